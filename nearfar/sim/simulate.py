"""`nearfar simulate`: one access pattern on one device, and where its lines are served."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from nearfar import _sim
from nearfar.base.errors import CommandError, ExitCode
from nearfar.base.units import LINE_BYTES, format_bytes
from nearfar.sim.loaded import LoadedLatency
from nearfar.sim.memory import make_memory
from nearfar.sim.model_of import model_of
from nearfar.sim.parameters import DeviceModel, NearCache
from nearfar.sim.throughput import amplified, busiest_share, by_threads
from nearfar.sim.warm import scaled, warm_up_accesses

NOT_VALIDATED = "Memory Mode is not validated on hardware: no raw measurement of it is published"
NEAR_NS = 101.5
"""Latency of a DRAM cache: random loads of DDR4-2666 next to Optane (FAST 2020, figure 2)."""

LINES = 400_000
"""Lines simulated after the warm-up: shares are known to 0.2 %."""

MAX_REGION_BYTES = 1 << 37
"""128 GiB: line numbers of the simulator are 31 bits."""

DEFAULT_STRIDE_BYTES = 4096

MAX_IN_FLIGHT = 10_000
"""Lines in flight of 200 cores with 48 line-fill buffers each."""


@dataclass(frozen=True)
class SimulationRequest:
    """Device and access pattern to simulate."""

    device: str
    pattern: Literal["chase", "random", "sequential", "strided"]
    region_bytes: int
    access_bytes: int = LINE_BYTES
    stride_bytes: int | None = None
    write: bool = False
    in_flight: float | None = None
    """Lines in flight of all cores together; None: one access at a time."""
    memory_mode_bytes: int | None = None
    isa: str = ""
    seed: int = 1
    """Seed of the order of random accesses and of random replacement."""
    lines: int = LINES
    """Lines simulated after the warm-up."""


@dataclass(frozen=True)
class SimulationResult:
    """Costs of the pattern, and where its lines were served."""

    request: SimulationRequest
    ns_per_access: float
    ns_per_line: float
    shares: dict[str, float]
    """Share of lines by where they were served (caches, buffers, medium) or where writes went."""
    amplification: float
    """Bytes the medium moves over requested bytes."""
    gb_per_s: float | None
    """Bandwidth of one thread; None for a chase."""
    lines_simulated: int
    caveats: tuple[str, ...]
    loaded: tuple[float, float] | None = None
    """GB/s and ns per line with `in_flight` lines in flight."""

    def as_json(self) -> dict[str, Any]:
        """Return the object that --json prints."""
        return {
            "device": self.request.device,
            "pattern": self.request.pattern,
            "operation": "persist" if self.request.write else "load",
            "region_bytes": self.request.region_bytes,
            "access_bytes": self.request.access_bytes,
            "ns_per_access": self.ns_per_access,
            "ns_per_line": self.ns_per_line,
            "shares": self.shares,
            "amplification": self.amplification,
            "gb_per_s_of_one_thread": self.gb_per_s,
            "lines_simulated": self.lines_simulated,
            "loaded": None
            if self.loaded is None
            else {
                "in_flight": self.request.in_flight,
                "gb_per_s": self.loaded[0],
                "ns_per_line": self.loaded[1],
            },
            "caveats": list(self.caveats),
        }

    def lines(self) -> list[str]:
        """Return the text for a terminal."""
        request = self.request
        accesses = "persisted writes" if request.write else "loads"
        rows = [
            f"{request.pattern} {accesses} of {format_bytes(request.access_bytes)} over "
            f"{format_bytes(request.region_bytes)} on {request.device}",
            f"  {self.ns_per_access:.1f} ns per access, {self.ns_per_line:.1f} ns per line",
        ]
        rows += [f"  {share:7.2%} {name}" for name, share in self.shares.items()]
        rows.append(f"  amplification {self.amplification:.2f} (bytes the medium moves per byte)")
        if self.gb_per_s is not None:
            rows.append(f"  {self.gb_per_s:.2f} GB/s of one thread (closed form)")
        if self.loaded is not None:
            rows.append(
                f"  with {request.in_flight:g} lines in flight {self.loaded[1]:.1f} ns per line "
                f"and {self.loaded[0]:.2f} GB/s, where latency and bandwidth agree"
            )
        return rows + [f"  {sentence}" for sentence in self.caveats]


def simulate_pattern(
    request: SimulationRequest, device: DeviceModel | None = None
) -> SimulationResult:
    """Run the simulator; raises NearfarError for what it cannot simulate.

    `device` is the model of the device that `request` names, if it was made before.
    """
    model, stride = checked(request, device)
    if request.isa and request.isa not in _sim.isas():
        raise CommandError(
            f"this processor cannot run {request.isa}: use one of {', '.join(_sim.isas())}",
            ExitCode.MACHINE_LACKS,
        )
    access, region = request.access_bytes, request.region_bytes
    run_model, run_region = model, region
    if stride == access and not request.write and request.pattern != "sequential":
        smaller = scaled(model, region, access)
        run_model, run_region = smaller.model, smaller.region_bytes
    warm = warm_up_accesses(run_model, run_region, access, stride)
    ran = _sim.run(
        memory=make_memory(run_model, seed=request.seed),
        operation="persist" if request.write else "load",
        region_bytes=run_region,
        access_bytes=access,
        stride_bytes=stride,
        random=request.pattern != "sequential",
        pattern_seed=request.seed,
        warm_up=warm,
        accesses=max(request.lines * LINE_BYTES // access, 1),
        fence_ns=model.fence_ns,
        wear_unit_bytes=max(model.granularity_bytes, LINE_BYTES),
        isa=request.isa,
    )
    counts = ran.written if request.write else ran.read
    names = _names(model, write=request.write)
    shares = {name: count / ran.lines for name, count in zip(names, counts, strict=False)}
    lines = access // LINE_BYTES
    caveats = [NOT_VALIDATED] if model.near else []
    if request.write and model.near:
        caveats.append("writes bypass the DRAM cache and go to the device")
    return SimulationResult(
        request=request,
        ns_per_access=ran.elapsed_ns / ran.lines * lines,
        ns_per_line=ran.elapsed_ns / ran.lines,
        shares=shares,
        amplification=_amplification(model, request, ran, shares),
        gb_per_s=None if request.pattern == "chase" else _gb_per_s(model, request, stride),
        lines_simulated=ran.lines,
        caveats=tuple(caveats),
        loaded=None
        if request.in_flight is None
        else _loaded(model, request, ran.elapsed_ns / ran.lines),
    )


def checked(
    request: SimulationRequest, device: DeviceModel | None = None
) -> tuple[DeviceModel, int]:
    """Return the model and the stride in bytes, or refuse the request."""
    model = model_of(request.device) if device is None else device
    if request.memory_mode_bytes is not None:
        if request.memory_mode_bytes < LINE_BYTES:
            raise CommandError("--memory-mode is the size of a DRAM cache, such as 16GiB")
        near_bytes = request.memory_mode_bytes // LINE_BYTES * LINE_BYTES
        near_ns = min(NEAR_NS, model.media_ns)
        model = replace(model, near=NearCache(near_bytes, near_ns))
    if request.in_flight is not None:
        if request.write or request.pattern not in ("random", "sequential"):
            raise CommandError(
                "--in-flight goes with loads that do not wait for each other: --pattern random or "
                "sequential, without --write"
            )
        if not 1.0 <= request.in_flight <= MAX_IN_FLIGHT:
            raise CommandError(
                f"--in-flight is from 1 to {MAX_IN_FLIGHT:,} lines, not {request.in_flight:g}"
            )
    access = request.access_bytes
    if not LINE_BYTES <= access <= 16384 or access % LINE_BYTES:
        raise CommandError(f"--access is a multiple of 64 B up to 16 KiB, not {access} B")
    if request.stride_bytes is not None and request.pattern != "strided":
        raise CommandError("--stride goes with --pattern strided")
    stride = access
    if request.pattern == "strided":
        stride = request.stride_bytes or max(DEFAULT_STRIDE_BYTES, access)
    if stride < access or stride % LINE_BYTES:
        raise CommandError(f"--stride is a multiple of 64 B and at least --access, not {stride} B")
    if not stride <= request.region_bytes <= MAX_REGION_BYTES:
        raise CommandError(
            f"--region is at least one stride and at most 128 GiB, not {request.region_bytes} B"
        )
    return model, stride


def _names(model: DeviceModel, *, write: bool) -> list[str]:
    inside = [level.name for level in model.buffers] + ["medium"]
    if write:
        return ["write queue", *inside]
    near = ["DRAM cache"] if model.near else []
    return [level.name for level in model.caches] + near + inside


def _amplification(
    model: DeviceModel, request: SimulationRequest, ran: Any, shares: dict[str, float]
) -> float:
    """Return the bytes that the medium moves per requested byte."""
    block = model.buffers[0].block_bytes if model.buffers else LINE_BYTES
    if request.write:
        return float(ran.media_writes * block / (ran.lines * LINE_BYTES))
    if not model.buffers:
        return amplified(LINE_BYTES, model.granularity_bytes) * shares["medium"]
    beyond = sum(shares[level.name] for level in model.buffers[1:]) + shares["medium"]
    return beyond * block / LINE_BYTES


def _loaded(model: DeviceModel, request: SimulationRequest, idle_ns: float) -> tuple[float, float]:
    """Return the GB/s and ns per line with the request's lines in flight."""
    most = model.read.max_gb_per_s
    if request.pattern == "random":
        most /= amplified(request.access_bytes, model.granularity_bytes)
    return LoadedLatency(idle_ns, lambda _share: most, model.loaded).fixed_point(
        request.in_flight or 1.0
    )


def _gb_per_s(model: DeviceModel, request: SimulationRequest, stride: int) -> float:
    kind = model.nt_store if request.write else model.read
    value = by_threads(kind, 1)
    if request.pattern == "sequential":
        return value
    value /= amplified(request.access_bytes, model.granularity_bytes)
    if request.pattern == "strided" and model.interleave:
        busiest = busiest_share(model.interleave, stride, request.access_bytes)
        most = kind.max_gb_per_s / (model.devices * busiest)
        value = min(value, most)
    return value

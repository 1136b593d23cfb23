"""`nearfar simulate`: one access pattern on one device, and where its lines are served."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from nearfar import _sim
from nearfar.base.errors import CommandError, ExitCode
from nearfar.base.units import LINE_BYTES, format_bytes, parse_size_bytes
from nearfar.options.simulate import SimulateOptions
from nearfar.sim.loaded import LoadedLatency
from nearfar.sim.memory import make_memory
from nearfar.sim.model_of import model_of
from nearfar.sim.parameters import DeviceModel, NearCache
from nearfar.sim.throughput import amplified, busiest_share, by_threads
from nearfar.sim.warm import scaled, warm_up_accesses

NOT_VALIDATED = "Memory Mode is not validated on hardware: no raw measurement of it is published"
NEAR_NS = 101.5
"""Latency of a DRAM cache: random loads of DDR4-2666 next to Optane (FAST 2020, figure 2)."""

MAX_REGION_BYTES = (1 << 37) - LINE_BYTES
"""A line less than 128 GiB: line numbers of the simulator have 31 bits, and the last one marks an
empty place."""

DEFAULT_STRIDE_BYTES = 4096

MAX_IN_FLIGHT = 10_000
"""Lines in flight of 200 cores with 48 line-fill buffers each."""


@dataclass(frozen=True)
class SimulationResult:
    """Costs of the pattern, and where its lines were served."""

    options: SimulateOptions
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
            "device": self.options.device,
            "pattern": self.options.pattern,
            "operation": "persist" if self.options.write else "load",
            "region_bytes": self.options.region_bytes,
            "access_bytes": self.options.access_bytes,
            "ns_per_access": self.ns_per_access,
            "ns_per_line": self.ns_per_line,
            "shares": self.shares,
            "amplification": self.amplification,
            "gb_per_s_of_one_thread": self.gb_per_s,
            "lines_simulated": self.lines_simulated,
            "loaded": None
            if self.loaded is None
            else {
                "in_flight": self.options.in_flight,
                "gb_per_s": self.loaded[0],
                "ns_per_line": self.loaded[1],
            },
            "caveats": list(self.caveats),
        }

    def lines(self) -> list[str]:
        """Return the text for a terminal."""
        options = self.options
        accesses = "persisted writes" if options.write else "loads"
        rows = [
            f"{options.pattern} {accesses} of {format_bytes(options.access_bytes)} over "
            f"{format_bytes(options.region_bytes)} on {options.device}",
            f"  {self.ns_per_access:.1f} ns per access, {self.ns_per_line:.1f} ns per line",
        ]
        rows += [f"  {share:7.2%} {name}" for name, share in self.shares.items()]
        rows.append(f"  amplification {self.amplification:.2f} (bytes the medium moves per byte)")
        if self.gb_per_s is not None:
            rows.append(f"  {self.gb_per_s:.2f} GB/s of one thread (closed form)")
        if self.loaded is not None:
            rows.append(
                f"  with {options.in_flight:g} lines in flight {self.loaded[1]:.1f} ns per line "
                f"and {self.loaded[0]:.2f} GB/s, where latency and bandwidth agree"
            )
        return rows + [f"  {sentence}" for sentence in self.caveats]


def simulate_pattern(
    options: SimulateOptions, device: DeviceModel | None = None
) -> SimulationResult:
    """Run the simulator; raises NearfarError for a pattern that it cannot simulate.

    `device` is the model of the device that `options` names, if the caller already has it.
    """
    model, stride = checked(options, device)
    if options.isa is not None and options.isa not in _sim.isas():
        raise CommandError(
            f"this processor cannot run {options.isa}: use one of {', '.join(_sim.isas())}",
            ExitCode.MACHINE_LACKS,
        )
    access, region = options.access_bytes, options.region_bytes
    run_model, run_region = model, region
    if stride == access and not options.write and options.pattern != "sequential":
        smaller = scaled(model, region, access)
        run_model, run_region = smaller.model, smaller.region_bytes
    warm = warm_up_accesses(run_model, run_region, access, stride)
    ran = _sim.run(
        memory=make_memory(run_model, seed=options.seed),
        operation="persist" if options.write else "load",
        region_bytes=run_region,
        access_bytes=access,
        stride_bytes=stride,
        random=options.pattern != "sequential",
        pattern_seed=options.seed,
        warm_up=warm,
        accesses=max(options.lines * LINE_BYTES // access, 1),
        fence_ns=model.fence_ns,
        wear_unit_bytes=max(model.granularity_bytes, LINE_BYTES),
        isa=options.isa or "",
    )
    counts = ran.written if options.write else ran.read
    names = _names(model, write=options.write)
    shares = {name: count / ran.lines for name, count in zip(names, counts, strict=False)}
    lines = access // LINE_BYTES
    caveats = [NOT_VALIDATED] if model.near else []
    if options.write and model.near:
        caveats.append("writes bypass the DRAM cache and go to the device")
    return SimulationResult(
        options=options,
        ns_per_access=ran.elapsed_ns / ran.lines * lines,
        ns_per_line=ran.elapsed_ns / ran.lines,
        shares=shares,
        amplification=_amplification(model, options, ran, shares),
        gb_per_s=None if options.pattern == "chase" else _gb_per_s(model, options, stride),
        lines_simulated=ran.lines,
        caveats=tuple(caveats),
        loaded=None
        if options.in_flight is None
        else _loaded(model, options, ran.elapsed_ns / ran.lines),
    )


def checked(options: SimulateOptions, device: DeviceModel | None = None) -> tuple[DeviceModel, int]:
    """Return the model and the stride in bytes, or refuse the options."""
    model = model_of(options.device) if device is None else device
    if options.memory_mode is not None:
        near_bytes = parse_size_bytes(options.memory_mode) // LINE_BYTES * LINE_BYTES
        if near_bytes == 0:
            raise CommandError("--memory-mode is the size of a DRAM cache, such as 16GiB")
        near_ns = min(NEAR_NS, model.media_ns)
        model = replace(model, near=NearCache(near_bytes, near_ns))
    if options.in_flight is not None:
        if options.write or options.pattern not in ("random", "sequential"):
            raise CommandError(
                "--in-flight applies to loads that do not wait for each other: use --pattern "
                "random or sequential, without --write"
            )
        if not 1.0 <= options.in_flight <= MAX_IN_FLIGHT:
            raise CommandError(
                f"--in-flight is from 1 to {MAX_IN_FLIGHT:,} lines, not {options.in_flight:g}"
            )
    access = options.access_bytes
    if not LINE_BYTES <= access <= 16384 or access % LINE_BYTES:
        raise CommandError(f"--access is a multiple of 64 B up to 16 KiB, not {access} B")
    if options.stride is not None and options.pattern != "strided":
        raise CommandError("--stride needs --pattern strided")
    stride = access
    if options.pattern == "strided":
        given = 0 if options.stride is None else parse_size_bytes(options.stride)
        stride = given or max(DEFAULT_STRIDE_BYTES, access)
    if stride < access or stride % LINE_BYTES:
        raise CommandError(f"--stride is a multiple of 64 B and at least --access, not {stride} B")
    if not stride <= options.region_bytes <= MAX_REGION_BYTES:
        raise CommandError(
            f"--region is at least one stride and below 128 GiB, not {options.region_bytes} B"
        )
    return model, stride


def _names(model: DeviceModel, *, write: bool) -> list[str]:
    inside = [level.name for level in model.buffers] + ["medium"]
    if write:
        return ["write queue", *inside]
    near = ["DRAM cache"] if model.near else []
    return [level.name for level in model.caches] + near + inside


def _amplification(
    model: DeviceModel, options: SimulateOptions, ran: Any, shares: dict[str, float]
) -> float:
    """Return the bytes that the medium moves per requested byte."""
    block = model.buffers[0].block_bytes if model.buffers else LINE_BYTES
    if options.write:
        return float(ran.media_writes * block / (ran.lines * LINE_BYTES))
    if not model.buffers:
        return amplified(LINE_BYTES, model.granularity_bytes) * shares["medium"]
    beyond = sum(shares[level.name] for level in model.buffers[1:]) + shares["medium"]
    return beyond * block / LINE_BYTES


def _loaded(model: DeviceModel, options: SimulateOptions, idle_ns: float) -> tuple[float, float]:
    """Return (GB/s, ns per line) with the lines in flight that `options` give."""
    most = model.read.max_gb_per_s
    if options.pattern == "random":
        most /= amplified(options.access_bytes, model.granularity_bytes)
    return LoadedLatency(idle_ns, lambda _share: most, model.loaded).fixed_point(
        options.in_flight or 1.0
    )


def _gb_per_s(model: DeviceModel, options: SimulateOptions, stride: int) -> float:
    kind = model.nt_store if options.write else model.read
    value = by_threads(kind, 1)
    if options.pattern == "sequential":
        return value
    value /= amplified(options.access_bytes, model.granularity_bytes)
    if options.pattern == "strided" and model.interleave:
        busiest = busiest_share(model.interleave, stride, options.access_bytes)
        most = kind.max_gb_per_s / (model.devices * busiest)
        value = min(value, most)
    return value

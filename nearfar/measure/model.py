"""Subject of `model:NAME`: a simulated device whose true figures are known.

Latencies, amplification, ways, queues and persisted writes come from the native simulator, which
runs the address sequence of the kernel. Bandwidths, chains and loaded latency come from closed
forms and the fixed point of load and latency. Noise as on real machines is added to both.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nearfar import _sim
from nearfar.base.units import LINE_BYTES
from nearfar.measure import model_bandwidth
from nearfar.measure.model_noise import ModelNoise
from nearfar.measure.subject import SubjectFacts
from nearfar.samples.point import Sample, SamplePoint
from nearfar.sim.from_device import from_device
from nearfar.sim.memory import make_memory
from nearfar.sim.model_of import model_of
from nearfar.sim.parameters import DeviceModel
from nearfar.sim.throughput import by_threads
from nearfar.sim.warm import scaled, warm_up_accesses

if TYPE_CHECKING:
    from nearfar._sim import Memory, RunResult
    from nearfar.documents import DeviceProfile

HUGE_BYTES = 2 << 20
SMALL_BYTES = 4096

TIMED_LINES = 100_000
"""Lines of one latency point: its latency is known to 0.3 %, after some 5 ms."""

PERSISTED_LINES = 60_000
"""Lines of one persist point that does not set its accesses; some 10 ms."""

EACH_ACCESSES = 20_000

TIMER_OVERHEAD_NS = 18.0
TIMER_RESOLUTION_NS = 1.0
"""Overhead and resolution of a time stamp counter, ns; subtracted already, as on real memory."""

LATENCY = frozenset({"chase", "chase-sequential", "read-after-write"})
INSTRUCTIONS = ("store", "nt-store", "clwb", "clflushopt", "clflush")
PERSIST = frozenset(
    f"persist-{instruction}{order}" for instruction in INSTRUCTIONS for order in ("", "-sequential")
) | {"overwrite"}
KERNELS = LATENCY | PERSIST | {"chains"} | model_bandwidth.KERNELS

FLUSH_FACTOR = {"store": 1.0, "clwb": 1.0, "clflushopt": 1.05, "clflush": 1.6}
"""Ratio of an instruction's time beyond the queue to that of clwb. A clflush is ordered: it waits
for the clflush before it (FAST 2020, figure 12: 64 B latencies)."""


@dataclass(frozen=True)
class Truth:
    """The truth that inference should recover."""

    model: DeviceModel
    caches: tuple[int, ...]
    """Capacities, from the core outward."""
    buffers: tuple[tuple[int, int], ...]
    """Capacity over all devices, and block."""
    write_queue_bytes: int | None
    interleave: tuple[int, int] | None
    """Devices, granularity."""
    wear_period_writes: int | None
    wear_length_ns: float | None
    refresh_period_ns: float | None
    refresh_length_ns: float | None
    idle_ns: float
    read_gb_per_s: float
    """Bandwidth of all threads; some memories give more to fewer."""
    nt_store_gb_per_s: float


@dataclass
class ModelSubject:
    """A Subject that simulates; `spec` is a library device, a profile, or a ready model."""

    spec: str | DeviceProfile | DeviceModel
    seed: int = 1
    noise: float = 1.0
    """1: as measured on real machines; 0: none."""
    isa: Literal["", "avx512", "avx2", "scalar"] = ""
    model: DeviceModel = field(init=False)

    def __post_init__(self) -> None:
        self.model = _model(self.spec)
        self._noise = ModelNoise(self.seed, self.noise)
        self._ns_by_settings: dict[tuple[Any, ...], float] = {}
        self._written_memory: Memory | None = None
        self._accesses_written = 0

    def facts(self) -> SubjectFacts:
        """Return the facts that a machine would report."""
        model = self.model
        return SubjectFacts(
            page_sizes=(HUGE_BYTES, SMALL_BYTES),
            largest_bytes=model.largest_bytes,
            buffer_bytes=model.largest_bytes,
            threads=model.threads,
            kernels=KERNELS,
            llc_bytes=model.caches[-1].capacity_bytes if model.caches else 0,
            timer_overhead_ns=TIMER_OVERHEAD_NS,
            timer_resolution_ns=TIMER_RESOLUTION_NS,
        )

    def truth(self) -> Truth:
        """Return the truth that inference should recover."""
        model = self.model
        wear, refresh, interleave = model.wear, model.refresh, model.interleave
        return Truth(
            model=model,
            caches=tuple(level.capacity_bytes for level in model.caches),
            buffers=tuple(
                (level.capacity_bytes * model.devices, level.block_bytes) for level in model.buffers
            ),
            write_queue_bytes=model.queue.capacity_bytes if model.queue else None,
            interleave=(interleave.devices, interleave.granularity_bytes) if interleave else None,
            wear_period_writes=wear.period_writes if wear else None,
            wear_length_ns=wear.length_ns if wear else None,
            refresh_period_ns=refresh.period_ns if refresh else None,
            refresh_length_ns=refresh.length_ns if refresh else None,
            idle_ns=model.media_ns,
            read_gb_per_s=by_threads(model.read, model.threads),
            nt_store_gb_per_s=by_threads(model.nt_store, model.threads),
        )

    def sample(self, point: SamplePoint) -> Sample:
        """Measure `point` once."""
        if point.kernel not in KERNELS:
            raise ValueError(f"a simulated memory does not run the kernel {point.kernel!r}")
        if not LINE_BYTES <= point.region_bytes <= self.model.largest_bytes:
            raise ValueError(
                f"a region of {point.region_bytes} B is outside {LINE_BYTES} B to "
                f"{self.model.largest_bytes} B"
            )
        if point.kernel in PERSIST:
            return self._sample_persisted(point)
        if point.kernel in LATENCY:
            return self._sample_latency(point)
        if point.kernel == "chains":
            region_ns = self._region_ns(point, "load")
            value = model_bandwidth.chains_ns(self.model, region_ns, point.chains)
            return self._noise.sample(value)
        return self._noise.sample(
            model_bandwidth.gb_per_s(self.model, point, self._region_ns(point, "load"))
        )

    def _sample_latency(self, point: SamplePoint) -> Sample:
        """Return a latency sample: the idle latency plus what load generators add."""
        operation = "read-after-write" if point.kernel == "read-after-write" else "load"
        idle_ns = self._region_ns(point, operation)
        added_ns, drawn = model_bandwidth.load_of_generators(self.model, point, idle_ns)
        if _is_loaded(point):
            drawn += LINE_BYTES / (idle_ns + added_ns)
        if not point.each:
            return self._noise.sample(idle_ns + added_ns, drawn)
        accesses = point.accesses or EACH_ACCESSES
        ran = self._simulate(point, operation, accesses)
        times = ran.take_each_ns()
        times += np.float32(added_ns)
        utilisation = added_ns / (idle_ns + added_ns)
        sample = self._noise.each(times, utilisation)
        return Sample(sample.value, drawn, sample.each_ns, sample.disturbed)

    def _region_ns(self, point: SamplePoint, operation: str) -> float:
        """Return noise-free ns per line of a chase over the region; simulated once and kept."""
        key = (operation, point.kernel == "chase-sequential", point.page_bytes, point.region_bytes,
               point.access_bytes, point.stride_bytes, point.window_bytes)  # fmt: skip
        if key not in self._ns_by_settings:
            lines = max(point.access_bytes // LINE_BYTES, 1)
            accesses = max(TIMED_LINES // lines, 1)
            ran = self._simulate(point, operation, accesses)
            # A read after a write counts as one access: the write, then the read of the same line.
            self._ns_by_settings[key] = ran.elapsed_ns / ran.lines
        return self._ns_by_settings[key]

    def _simulate(self, point: SamplePoint, operation: str, accesses: int) -> RunResult:
        access = max(point.access_bytes, LINE_BYTES)
        stride = max(point.stride_bytes, access)
        model, region = self.model, point.region_bytes
        if point.stride_bytes <= point.access_bytes and not point.window_bytes and not point.each:
            smaller = scaled(model, region, access)
            model, region = smaller.model, smaller.region_bytes
        access = min(access, region)
        huge = point.page_bytes > SMALL_BYTES
        warm = warm_up_accesses(model, region, access, stride)
        units = max(region // max(stride, access), 1)
        return _sim.run(
            memory=make_memory(model, huge_pages=huge, seed=self.seed),
            operation=operation,
            region_bytes=region,
            access_bytes=access,
            stride_bytes=max(stride, access),
            window_bytes=point.window_bytes,
            random=point.kernel != "chase-sequential",
            page_bytes=0 if huge else SMALL_BYTES,
            pattern_seed=self.seed + 1,
            warm_up=warm,
            accesses=accesses if accesses < units or point.each else accesses // units * units,
            fence_ns=self.model.fence_ns,
            rest_ns=point.rest_ns,
            wear_unit_bytes=max(self.model.granularity_bytes, LINE_BYTES),
            each=point.each,
            isa=self.isa,
        )

    def _sample_persisted(self, point: SamplePoint) -> Sample:
        """Sample a persist point; all persist points write one memory, so wear accumulates."""
        if self._written_memory is None:
            self._written_memory = make_memory(self.model, seed=self.seed)
        access = min(max(point.access_bytes, LINE_BYTES), point.region_bytes)
        lines = access // LINE_BYTES
        accesses = point.accesses or (
            EACH_ACCESSES if point.each else max(PERSISTED_LINES // lines, 16)
        )
        ran = _sim.run(
            memory=self._written_memory,
            operation="persist",
            region_bytes=point.region_bytes,
            access_bytes=access,
            stride_bytes=max(point.stride_bytes, access),
            window_bytes=point.window_bytes,
            random=point.kernel != "overwrite" and not point.kernel.endswith("-sequential"),
            pattern_seed=zlib.crc32(str(point.region_bytes).encode()),
            first=self._accesses_written,
            warm_up=0 if point.each else max(accesses // 4, 1),
            accesses=accesses,
            fence_every=point.fence_every,
            fence_ns=self._fence_ns(point.kernel),
            rest_ns=point.rest_ns,
            wear_unit_bytes=max(self.model.granularity_bytes, LINE_BYTES),
            each=point.each,
            isa=self.isa,
        )
        self._accesses_written += accesses
        added_ns, drawn = model_bandwidth.load_of_generators(self.model, point, self.model.media_ns)
        added_ns /= point.fence_every
        ns = ran.elapsed_ns / accesses + added_ns
        if _is_loaded(point):
            drawn += access / ns
        if not point.each:
            return self._noise.sample(ns, drawn)
        times = ran.take_each_ns()
        times += np.float32(added_ns)
        sample = self._noise.each(times, added_ns / ns)
        return Sample(sample.value, drawn, sample.each_ns, sample.disturbed)

    def _fence_ns(self, kernel: str) -> float:
        instruction = kernel.removeprefix("persist-").removesuffix("-sequential")
        if instruction in FLUSH_FACTOR:
            return self.model.flush_ns * FLUSH_FACTOR[instruction]
        return self.model.fence_ns


def _is_loaded(point: SamplePoint) -> bool:
    """Return whether load generators run beside what is timed."""
    return bool(point.generator) and point.pause_ns is not None


def _model(spec: str | DeviceProfile | DeviceModel) -> DeviceModel:
    if isinstance(spec, DeviceModel):
        return spec
    if isinstance(spec, str):
        return model_of(spec)
    return from_device(spec)

"""Samples points on real memory: which mapping, how long to warm, which threads beside.

Memory used is bounded: for each page size one mapping that is chased (the largest region; smaller
ones are its beginning) and, once something is stored to, one of at most that size for it; and the
buffer of bandwidth kernels and generators. Linking adds a sixteenth for each order kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from nearfar.measure.environment import StolenTime
from nearfar.measure.native import _measure
from nearfar.measure.subject import SubjectFacts
from nearfar.memories.spec import Load
from nearfar.samples.point import Sample, SamplePoint

__all__ = ["Sample", "Sampler", "warm_up_accesses"]

if TYPE_CHECKING:
    from nearfar._measure import Drawn, Kernel, Memory, Shape, Worker

WARM_UP_ACCESSES = 100_000
"""Before every timed stretch: a cold chase reads 30 % high (TLB, page-table lines, frequency)."""

TIMED_ACCESSES = 50_000
"""Of a chase whose latency is known to be tens of ns or more: 5 ms of 100 ns each."""

FEWEST_TIMED = 10_000
TIMED_NS = 15e6
"""At least about so long: a first-level hit takes 1 ns, and starting threads some 100 us, which
must stay below 1 % of a sample (benchmarks/rows/harness.py)."""

STORED_ACCESSES = 2_000
STORED_NS = 15e6
"""The same of accesses with a fence, which take 100 ns to 10 us."""

EACH_ACCESSES = 50_000
"""Timed one by one where the point does not say: p99.9 is then known from 50 of them."""

BANDWIDTH_NS = 20e6
BANDWIDTH_WARM_UP_NS = 3e6
"""20 ms move some 200 MB in one core: far more than caches hold back or absorb at the ends."""

WARM_UP_PASSES = 12
"""Over a region that fits in the last level, which the points before may have emptied: caches that
admit a line only when it comes back fill slowly. On an AMD EPYC (family 25) a 4 MiB region reads
115 ns after one pass, 38 ns after four and 16 ns, its settled latency, after twelve."""

MOST_HIT = 0.1
"""Share of accesses with a preemption in them beyond which the mean of the middle half is off."""

EVEN = 0.5
"""Read share of the mixed kernels where a point gives none."""

LOAD_KERNELS: dict[Load, str] = {"read": "read", "store": "write", "copy": "copy-nt"}


def warm_up_accesses(region_bytes: int, llc_bytes: int) -> int:
    """Return how many accesses precede a timed chase of a region."""
    lines, llc_lines = region_bytes // 64, llc_bytes // 64
    if region_bytes <= llc_bytes:
        # Twice the cache bounds the time; it is four passes over half of it.
        return max(WARM_UP_ACCESSES, min(WARM_UP_PASSES * lines, 2 * llc_lines))
    if region_bytes <= 2 * llc_bytes:
        return max(WARM_UP_ACCESSES, llc_lines // 2)
    return WARM_UP_ACCESSES


@dataclass
class Sampler:
    """The memories and CPUs of a measurement; a `Subject`."""

    chased: dict[int, Memory]
    """By page bytes, largest first; each as large as the largest region."""
    buffer: Memory
    """Of bandwidth kernels and load generators; of the largest pages."""
    map_more: Callable[[int, int], Memory]
    """Maps another memory of (page bytes, size): what is stored to must not hold links."""
    cpus: tuple[int, ...]
    """The first times; the others accompany."""
    llc_bytes: int
    load: Load = "none"
    load_buffer: Memory | None = None
    """Of the contending core, if there is one."""
    spin: bool = True
    isa: str = ""
    """Instruction set of the kernels (sse2, avx2, avx512); empty: the widest here."""
    loops_s: float = field(default=0.0, init=False)
    """Of all sampling so far, what was spent in kernels' loops (warm-up included), seconds."""
    set_up_s: float = field(default=0.0, init=False)
    """And what in mapping and linking memory."""
    _stored: dict[int, Memory] = field(default_factory=dict, init=False)
    _stolen: StolenTime = field(init=False)

    def __post_init__(self) -> None:
        """Watch the CPUs that measure."""
        self._stolen = StolenTime(self.cpus)

    @cached_property
    def _kernels(self) -> dict[str, Kernel]:
        return {one.name: one for one in _measure.kernels() if not one.missing(self.isa)}

    def use_isa(self, isa: str) -> None:
        """Use the kernels of another instruction set from now on."""
        self.isa = isa
        self.__dict__.pop("_kernels", None)

    def facts(self) -> SubjectFacts:
        """Return what is known before measuring."""
        overhead_ns, resolution_ns = _measure.access_timer()
        contended = self.load != "none"
        return SubjectFacts(
            page_sizes=tuple(self.chased),
            largest_bytes=min(memory.size_bytes for memory in self.chased.values()),
            buffer_bytes=self.buffer.size_bytes,
            threads=len(self.cpus) - contended,
            kernels=frozenset(self._kernels),
            llc_bytes=self.llc_bytes,
            timer_overhead_ns=overhead_ns,
            timer_resolution_ns=resolution_ns,
        )

    def sample(self, point: SamplePoint) -> Sample:
        """Measure `point` once; takes some 20 ms, more where its region is linked anew.

        `value` of a point timed `each` is the mean of the middle half: a median finer than the
        clock's step.
        """
        if point.kernel not in self._kernels:
            raise ValueError(f"kernel {point.kernel!r} does not exist or cannot run here")
        if point.page_bytes not in self.chased:
            raise ValueError(f"there are no pages of {point.page_bytes} bytes here")
        if point.each or (point.rest_ns > 0 and self._kernels[point.kernel].can_time_each):
            # Rests are not timed, so what lies between two of them is timed by itself.
            return self._each(point)
        if point.threads > 1 or not self.is_latency(point.kernel):
            return self._bandwidth(point)
        return self._latency(point)

    def is_latency(self, kernel: str) -> bool:
        """Say whether each access of a kernel waits for the one before: by data, or by a fence."""
        traffic = self._kernels[kernel].traffic()
        return bool(traffic.dependent_loads > 0 or traffic.fences > 0)

    def _bandwidth(self, point: SamplePoint) -> Sample:
        # Not the spinning companion: it would only take a core from the kernel's threads.
        beside = self._contending() + self._generators(point, first=point.threads)
        memory = self._memory(point, self.buffer.size_bytes)
        threads = point.threads
        if threads + len(beside) > len(self.cpus):
            raise ValueError(f"there are {len(self.cpus)} CPUs, not {threads + len(beside)}")
        workers = [
            self._worker(point, cpu, memory, part, threads)
            for part, cpu in enumerate(self.cpus[:threads])
        ]
        together = _measure.together([*workers, *beside], BANDWIDTH_NS, BANDWIDTH_WARM_UP_NS)
        rates = [one.gb_per_s for one in together.each]
        drawn = sum(rates) if len(rates) > threads else 0.0
        self.loops_s += together.loops_ns / 1e9
        return Sample(sum(rates[:threads]), drawn, None, self._disturbed(together.disturbed))

    def _latency(self, point: SamplePoint) -> Sample:
        beside = self._beside(point)
        worker = self._worker(point, self.cpus[0], self._memory(point, self._largest(point)))
        warm_up, accesses, least_ns = self._effort(point)
        timing = _measure.time_alone(worker, accesses, warm_up, least_ns, beside, self._pass(point))
        self.loops_s += timing.loops_ns / 1e9
        return Sample(
            timing.ns,
            self._drawn(point, timing.ns, timing.beside),
            None,
            self._disturbed(timing.disturbed),
        )

    def _each(self, point: SamplePoint) -> Sample:
        if not self._kernels[point.kernel].can_time_each:
            raise ValueError(f"the accesses of kernel {point.kernel!r} cannot be timed one by one")
        beside = self._beside(point)
        worker = self._worker(point, self.cpus[0], self._memory(point, self._largest(point)))
        warm_up, _, _ = self._effort(point)
        each_ns, timing = _measure.time_each(
            worker, point.accesses or EACH_ACCESSES, warm_up, point.rest_ns, beside
        )
        self.loops_s += timing.loops_ns / 1e9
        # Of single accesses the rarest count, and one switch makes one of them; their middle half
        # is moved by far more.
        disturbed = timing.disturbed if point.each else timing.switches > MOST_HIT * len(each_ns)
        return Sample(
            timing.ns,
            self._drawn(point, timing.ns, timing.beside),
            each_ns if point.each else None,
            self._disturbed(disturbed),
        )

    def _effort(self, point: SamplePoint) -> tuple[int, int, float]:
        """Return accesses to warm up, to time, and the least time they may take."""
        traffic = self._kernels[point.kernel].traffic()
        if traffic.fences > 0:
            warm_up, accesses, least_ns = STORED_ACCESSES, STORED_ACCESSES, STORED_NS
        else:
            warm_up = warm_up_accesses(point.region_bytes, self.llc_bytes)
            accesses, least_ns = FEWEST_TIMED, TIMED_NS
        return warm_up, point.accesses or accesses, 0.0 if point.accesses else least_ns

    def _pass(self, point: SamplePoint) -> int:
        """Return accesses of a warm-up's pass: more are made only while passes get faster."""
        if point.region_bytes > self.llc_bytes:
            return 0  # it settles within the accesses given, which are less than a pass
        return max(point.region_bytes // 64, WARM_UP_ACCESSES // 2)

    def _largest(self, point: SamplePoint) -> int:
        return int(self.chased[point.page_bytes].size_bytes)

    def _memory(self, point: SamplePoint, most_bytes: int) -> Memory:
        """Return the memory whose first `region_bytes` the point is of."""
        if point.region_bytes > most_bytes:
            raise ValueError(
                f"a region of {point.region_bytes} bytes is beyond the largest, {most_bytes}"
            )
        begin = time.perf_counter()
        try:
            return self._ready_memory(point, most_bytes)
        finally:
            self.set_up_s += time.perf_counter() - begin

    def _ready_memory(self, point: SamplePoint, most_bytes: int) -> Memory:
        if self._kernels[point.kernel].needs_links:
            memory = self.chased[point.page_bytes]
            sequential = point.kernel == "chase-sequential"
            memory.link(point.region_bytes, self._shape(point), sequential)
            return memory
        if not self.is_latency(point.kernel) and point.page_bytes == next(iter(self.chased)):
            return self.buffer
        had = self._stored.pop(point.page_bytes, None)
        if had is None or had.size_bytes < point.region_bytes:
            doubled = 2 * had.size_bytes if had is not None else 0
            del had  # before its successor takes as much again
            size_bytes = min(max(point.region_bytes, doubled), most_bytes)
            had = self.map_more(point.page_bytes, size_bytes)
        self._stored[point.page_bytes] = had
        return had

    def _shape(self, point: SamplePoint) -> Shape:
        return _measure.Shape(
            access_bytes=point.access_bytes,
            # A stride of one access is none; a window of the region likewise.
            stride_bytes=point.stride_bytes if point.stride_bytes > point.access_bytes else 0,
            window_bytes=point.window_bytes if point.window_bytes < point.region_bytes else 0,
            read_share=EVEN if point.read_share is None else point.read_share,
            fence_every=point.fence_every,
        )

    def _worker(
        self, point: SamplePoint, cpu: int, memory: Memory, part: int = 0, parts: int = 1
    ) -> Worker:
        return _measure.Worker(
            cpu,
            point.kernel,
            memory,
            region_bytes=point.region_bytes,
            part=part,
            parts=parts,
            shape=self._shape(point),
            chains=point.chains,
            isa=self.isa,
        )

    def _beside(self, point: SamplePoint) -> list[Worker]:
        """Return what runs beside one timed thread."""
        beside = self._contending() + self._generators(point, first=1)
        if not beside and self.spin and len(self.cpus) > 1:
            return [_measure.Worker(self.cpus[-1])]
        return beside

    def _contending(self) -> list[Worker]:
        if self.load == "none":
            return []
        return [
            _measure.Worker(self.cpus[-1], LOAD_KERNELS[self.load], self.load_buffer, isa=self.isa)
        ]

    def _generators(self, point: SamplePoint, first: int) -> list[Worker]:
        if point.pause_ns is None or not point.generator:
            return []
        if point.generator not in self._kernels:
            raise ValueError(f"generator {point.generator!r} does not exist or cannot run here")
        others = self.cpus[first : len(self.cpus) - (self.load != "none")]
        shape = _measure.Shape(read_share=EVEN if point.read_share is None else point.read_share)
        return [
            _measure.Worker(
                cpu,
                point.generator,
                self.buffer,
                part=part,
                parts=len(others),
                shape=shape,
                pause_ns=point.pause_ns,
                isa=self.isa,
            )
            for part, cpu in enumerate(others)
        ]

    def _drawn(self, point: SamplePoint, ns: float, beside: Sequence[Drawn]) -> float:
        """Return GB/s of the generators and the timed thread; 0 without a generator."""
        if point.pause_ns is None or not point.generator or ns <= 0:
            return 0.0
        traffic = self._kernels[point.kernel].traffic(self._shape(point))
        own = traffic.read_bytes + traffic.written_bytes + traffic.non_temporal_bytes
        return float(sum(one.gb_per_s for one in beside) + own / ns)

    def _disturbed(self, preempted: bool) -> bool:
        return self._stolen.matters() or preempted

"""Sampling of points on real memory: which mapping, how long to warm, which co-runners.

Memory use is bounded. Each page size has one mapping for chases, as large as the largest region;
smaller regions are its beginning. Once a point stores, its page size gets a second mapping of at
most that size. Bandwidth kernels and generators share one buffer. Linking adds a sixteenth of the
chased mapping for each order that is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from nearfar.measure.environment import StolenTime
from nearfar.measure.fastest_isa import QUICK_ROUNDS, ROUNDS, FastestIsa
from nearfar.measure.native import _measure
from nearfar.measure.subject import SubjectFacts
from nearfar.measure.warm_up import WarmUp
from nearfar.memories.spec import Load
from nearfar.samples.point import Sample, SamplePoint

__all__ = ["Sample", "Sampler"]

if TYPE_CHECKING:
    from nearfar._measure import Kernel, Memory, Shape, Timing, Worker

TIMED_ACCESSES = 50_000
"""Accesses of a chase that takes tens of ns or more each: 5 ms at 100 ns."""

MIN_TIMED_ACCESSES = 10_000
TIMED_NS = 15e6
"""Minimum accesses and time of a sample. Some 200 us pass around it (benchmarks/rows/harness.py).
Longer samples gain little: one of 30 ms spreads 0.8 times as much as one of 15 ms, the mean of two
of 15 ms 0.7 times."""

STORED_ACCESSES = 2_000
STORED_NS = 15e6
"""Minimum accesses and time for accesses with a fence, which take 100 ns to 10 us."""

EACH_ACCESSES = 50_000
"""Accesses timed one by one if the point does not set them: p99.9 comes from 50 of them."""

BANDWIDTH_NS = 20e6
BANDWIDTH_WARM_UP_NS = 3e6
"""Timed and warm-up time: 20 ms move some 200 MB a core, far more than caches absorb."""

MAX_PREEMPTED_SHARE = 0.1
"""Share of preempted accesses beyond which the mean of the middle half is wrong."""

DEFAULT_READ_SHARE = 0.5
"""Read share of the mixed kernels if a point sets none."""

LOAD_KERNELS: dict[Load, str] = {"read": "read", "store": "write", "copy": "copy-nt"}


@dataclass
class Sampler:
    """The memories and CPUs of a measurement; a `Subject`."""

    chased: dict[int, Memory]
    """Chased memory by page size, largest first; each as large as the largest region."""
    buffer_bytes: int
    """Size of the buffer of bandwidth kernels and load generators, on the largest pages."""
    map_more: Callable[[int, int], Memory]
    """Mapper of further memory of (page bytes, size): stores must not overwrite links."""
    cpus: tuple[int, ...]
    """CPUs: the first times, the others run co-runners."""
    llc_bytes: int
    load: Load = "none"
    load_buffer: Memory | None = None
    """Buffer of the contending core, if there is one."""
    spin: bool = True
    quick: bool = False
    """Whether fewer turns choose instruction sets."""
    isa: str = ""
    """Instruction set of the kernels (sse2, avx2, avx512); empty: each kernel's fastest here."""
    loops_s: float = field(default=0.0, init=False)
    """Time spent in kernels' loops so far, warm-up included, s."""
    set_up_s: float = field(default=0.0, init=False)
    """Time spent mapping and linking memory, and choosing instruction sets, s."""
    _stored: dict[int, Memory] = field(default_factory=dict, init=False)
    _linked: bool = field(default=False, init=False)
    """Whether the whole memory of every page size was linked."""
    _stolen: StolenTime = field(init=False)
    _warming: WarmUp = field(init=False)
    _fastest: FastestIsa = field(init=False)

    def __post_init__(self) -> None:
        """Watch the CPUs that measure."""
        self._stolen = StolenTime(self.cpus)
        self._warming = WarmUp(self.llc_bytes)
        self._fastest = FastestIsa(QUICK_ROUNDS if self.quick else ROUNDS)

    @cached_property
    def _buffer(self) -> Memory:
        """The buffer, mapped by the first point that needs it."""
        return self.map_more(next(iter(self.chased)), self.buffer_bytes)

    @cached_property
    def _kernels(self) -> dict[str, Kernel]:
        return {
            kernel.name: kernel for kernel in _measure.kernels() if not kernel.missing(self.isa)
        }

    @cached_property
    def _latency_kernels(self) -> frozenset[str]:
        """Kernels each of whose accesses waits for the one before, by data or by a fence."""
        dependent = (k.name for k in _measure.kernels() if k.traffic().dependent_loads > 0)
        return self._fenced_kernels.union(dependent)

    @cached_property
    def _fenced_kernels(self) -> frozenset[str]:
        return frozenset(k.name for k in _measure.kernels() if k.traffic().fences > 0)

    @property
    def keeps_awake(self) -> bool:
        """Whether a spinning co-runner keeps another core awake while latencies are measured."""
        return self.spin and len(self.cpus) > 1 and self.load == "none"

    @cached_property
    def _spinner(self) -> list[Worker]:
        return [_measure.Worker(self.cpus[-1])] if self.keeps_awake else []

    def use_isa(self, isa: str) -> None:
        """Use the kernels of another instruction set from now on."""
        self.isa = isa
        self.__dict__.pop("_kernels", None)

    def isa_of(self, kernel: str) -> str:
        """Return the instruction set that the kernel's latest samples were taken with."""
        return self.isa or self._fastest.chosen(kernel) or str(_measure.vector_extension())

    def isas(self) -> dict[str, str]:
        """Return the chosen instruction sets by kernel, in alphabetical order."""
        return self._fastest.all_chosen()

    def facts(self) -> SubjectFacts:
        """Return what is known before measuring."""
        overhead_ns, resolution_ns = _measure.access_timer()
        contended = self.load != "none"
        return SubjectFacts(
            page_sizes=tuple(self.chased),
            largest_bytes=min(memory.size_bytes for memory in self.chased.values()),
            buffer_bytes=self.buffer_bytes,
            threads=len(self.cpus) - contended,
            kernels=frozenset(self._kernels),
            llc_bytes=self.llc_bytes,
            timer_overhead_ns=overhead_ns,
            timer_resolution_ns=resolution_ns,
        )

    def sample(self, point: SamplePoint) -> Sample:
        """Measure `point` once; takes some 20 ms, more where its region is linked again.

        `value` of a point timed `each` is the mean of the middle half: a median finer than the
        clock's step.
        """
        if point.kernel not in self._kernels:
            raise ValueError(
                f"kernel {point.kernel!r} does not exist or cannot run on this machine"
            )
        if point.page_bytes not in self.chased:
            raise ValueError(f"no memory with pages of {point.page_bytes} bytes is mapped")
        if point.each or (point.rest_ns > 0 and self._kernels[point.kernel].can_time_each):
            # Rests are not timed, so each access between two of them is timed by itself.
            return self._sample_each(point)
        if point.threads > 1 or point.kernel not in self._latency_kernels:
            return self._sample_bandwidth(point)
        return self._sample_latency(point)

    def _sample_bandwidth(self, point: SamplePoint) -> Sample:
        """Measure the sum of all threads' GB/s."""
        # No spinning co-runner: it would only use a core of the kernel's threads.
        co_runners = self._contending_worker() + self._generators(point, first=point.threads)
        memory = self._memory(point, self.buffer_bytes)
        threads = point.threads
        if threads + len(co_runners) > len(self.cpus):
            raise ValueError(f"there are {len(self.cpus)} CPUs, not {threads + len(co_runners)}")
        workers = [
            self._worker(point, cpu, memory, part, threads)
            for part, cpu in enumerate(self.cpus[:threads])
        ]
        together = _measure.together([*workers, *co_runners], BANDWIDTH_NS, BANDWIDTH_WARM_UP_NS)
        rates = [worker.gb_per_s for worker in together.each]
        drawn = sum(rates) if len(rates) > threads else 0.0
        self.loops_s += together.loops_ns / 1e9
        return Sample(sum(rates[:threads]), drawn, None, self._disturbed(together.disturbed))

    def _sample_latency(self, point: SamplePoint) -> Sample:
        """Measure the mean ns per access of one thread, next to its co-runners."""
        co_runners = self._co_runners(point)
        worker = self._worker(point, self.cpus[0], self._memory(point, self._largest(point)))
        warm_up, pass_accesses = self._warm_up(point)
        if point.accesses:
            accesses, least_ns = point.accesses, 0.0
        elif point.kernel in self._fenced_kernels:
            accesses, least_ns = STORED_ACCESSES, STORED_NS
        else:
            accesses, least_ns = MIN_TIMED_ACCESSES, TIMED_NS
        timing = _measure.time_alone(
            worker, accesses, warm_up, least_ns, co_runners, pass_accesses, self._stolen.ticks
        )
        self._warming.note_passes(point, timing.warm_up_passes)
        self.loops_s += timing.loops_ns / 1e9
        return Sample(
            _resolved(timing.ns),
            self._total_gb_per_s(point, timing),
            None,
            self._disturbed(timing.disturbed),
        )

    def _sample_each(self, point: SamplePoint) -> Sample:
        """Measure each access of one thread by itself, in ns."""
        if not self._kernels[point.kernel].can_time_each:
            raise ValueError(f"the accesses of kernel {point.kernel!r} cannot be timed one by one")
        co_runners = self._co_runners(point)
        worker = self._worker(point, self.cpus[0], self._memory(point, self._largest(point)))
        warm_up, _ = self._warm_up(point)
        each_ns, timing = _measure.time_each(
            worker, point.accesses or EACH_ACCESSES, warm_up, point.rest_ns, co_runners
        )
        self.loops_s += timing.loops_ns / 1e9
        # One context switch spoils the tail of single accesses; a mean of the middle half stays
        # correct until many accesses are preempted.
        disturbed = (
            timing.disturbed if point.each else timing.switches > MAX_PREEMPTED_SHARE * len(each_ns)
        )
        ns = timing.ns
        if ns <= 0:
            each_ns = each_ns.clip(min=_resolved(ns))
            ns = float(each_ns.min())
        return Sample(
            ns,
            self._total_gb_per_s(point, timing),
            each_ns if point.each else None,
            self._disturbed(disturbed),
        )

    def _warm_up(self, point: SamplePoint) -> tuple[int, int]:
        """Return the most accesses that warm up, and those of each pass (0: all at once)."""
        accesses, pass_accesses = self._warming.accesses(point)
        fenced = point.kernel in self._fenced_kernels
        return STORED_ACCESSES if fenced else accesses, pass_accesses

    def _largest(self, point: SamplePoint) -> int:
        return int(self.chased[point.page_bytes].size_bytes)

    def _memory(self, point: SamplePoint, most_bytes: int) -> Memory:
        """Return the memory whose first `region_bytes` the point uses."""
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
            shape, sequential = self._shape(point), point.kernel == "chase-sequential"
            if not self._linked and not sequential and point.region_bytes == memory.size_bytes:
                self._link_largest(shape)
            memory.link(point.region_bytes, shape, sequential)
            return memory
        if point.kernel not in self._latency_kernels and point.page_bytes == next(
            iter(self.chased)
        ):
            return self._buffer
        stored = self._stored.pop(point.page_bytes, None)
        if stored is None or stored.size_bytes < point.region_bytes:
            doubled = 2 * stored.size_bytes if stored is not None else 0
            del stored  # free the smaller mapping before the larger one is mapped
            size_bytes = min(max(point.region_bytes, doubled), most_bytes)
            stored = self.map_more(point.page_bytes, size_bytes)
        self._stored[point.page_bytes] = stored
        return stored

    def _link_largest(self, shape: Shape) -> None:
        """Link the whole memory of every page size at once: each takes a second or two."""
        with ThreadPoolExecutor(len(self.chased)) as pool:
            for linked in [pool.submit(each.link, 0, shape) for each in self.chased.values()]:
                linked.result()
        self._linked = True

    def _shape(self, point: SamplePoint) -> Shape:
        return _measure.Shape(
            access_bytes=point.access_bytes,
            # A stride of one access is no stride, and a window of the whole region is no window.
            stride_bytes=point.stride_bytes if point.stride_bytes > point.access_bytes else 0,
            window_bytes=point.window_bytes if point.window_bytes < point.region_bytes else 0,
            read_share=DEFAULT_READ_SHARE if point.read_share is None else point.read_share,
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
            isa=self._isa_for(point.kernel, cpu, memory),
        )

    def _isa_for(self, kernel: str, cpu: int, memory: Memory) -> str:
        """Return the kernel's instruction set; empty: any."""
        if self.isa:
            return self.isa
        begin = time.perf_counter()
        try:
            return self._fastest.of_kernel(kernel, cpu, memory)
        finally:
            self.set_up_s += time.perf_counter() - begin

    def _co_runners(self, point: SamplePoint) -> list[Worker]:
        """Return the co-runners of one timed thread."""
        return self._contending_worker() + self._generators(point, first=1) or self._spinner

    def _contending_worker(self) -> list[Worker]:
        if self.load == "none":
            return []
        assert self.load_buffer is not None
        kernel, cpu = LOAD_KERNELS[self.load], self.cpus[-1]
        isa = self._isa_for(kernel, cpu, self.load_buffer)
        return [_measure.Worker(cpu, kernel, self.load_buffer, isa=isa)]

    def _generators(self, point: SamplePoint, first: int) -> list[Worker]:
        if point.pause_ns is None or not point.generator:
            return []
        if point.generator not in self._kernels:
            raise ValueError(f"generator {point.generator!r} does not exist or cannot run here")
        others = self.cpus[first : len(self.cpus) - (self.load != "none")]
        shape = _measure.Shape(
            read_share=DEFAULT_READ_SHARE if point.read_share is None else point.read_share
        )
        return [
            _measure.Worker(
                cpu,
                point.generator,
                self._buffer,
                part=part,
                parts=len(others),
                shape=shape,
                pause_ns=point.pause_ns,
                isa=self._isa_for(point.generator, cpu, self._buffer),
            )
            for part, cpu in enumerate(others)
        ]

    def _total_gb_per_s(self, point: SamplePoint, timing: Timing) -> float:
        """Return GB/s of the generators and the timed thread; 0 without a generator."""
        if point.pause_ns is None or not point.generator or timing.ns <= 0:
            return 0.0
        traffic = self._kernels[point.kernel].traffic(self._shape(point))
        own = traffic.read_bytes + traffic.written_bytes + traffic.non_temporal_bytes
        return float(sum(worker.gb_per_s for worker in timing.beside) + own / timing.ns)

    def _disturbed(self, preempted: bool) -> bool:
        return self._stolen.matters() or preempted


def _resolved(ns: float) -> float:
    """Return a time, or the clock's resolution if the clock's overhead was all of it, in ns.

    The overhead is calibrated once. If the core is faster later, it may exceed that of a cache hit.
    """
    _, resolution_ns = _measure.access_timer()
    return ns if ns > 0 else float(resolution_ns)

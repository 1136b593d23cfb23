"""Takes one sample of one point: which memory, how long to warm, which threads beside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nearfar.measure.spec import Load
from nearfar.measure.subject import Point, Sample

__all__ = ["Sample", "Sampler", "warm_up_accesses"]

if TYPE_CHECKING:
    from nearfar._measure import Companion, Memory

WARM_UP_ACCESSES = 100_000
"""Before every timed stretch: a cold chase reads 30 % high (TLB, page-table lines, frequency)."""

TIMED_ACCESSES = 50_000
"""5 ms of a 100 ns chase; 50 us of first-level hits, against a timer resolved to < 1 us."""

BANDWIDTH_NS = 15e6
BANDWIDTH_WARM_UP_NS = 3e6
"""15 ms move some 150 MB in one core: far more than caches hold back or absorb at the ends."""

WARM_UP_PASSES = 12
"""Over a region that fits in the last level, which the points before may have emptied: caches that
admit a line only when it comes back fill slowly. On an AMD EPYC (family 25) a 4 MiB region reads
115 ns after one pass, 38 ns after four and 16 ns, its settled latency, after twelve."""

LOAD_KERNELS: dict[Load, str] = {"read": "read", "store": "write", "copy": "copy"}


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
    """The memories and CPUs of a measurement."""

    regions: dict[tuple[int, int], Memory]
    """By (page bytes, region bytes), linked."""
    buffer: Memory
    """Of bandwidth kernels and load generators."""
    cpus: tuple[int, ...]
    """The first times; the others accompany."""
    llc_bytes: int
    load: Load = "none"
    load_buffer: Memory | None = None
    """Of the contending core, if there is one."""
    spin: bool = True
    _beside: list[Companion] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        from nearfar._measure import Companion

        if self.load != "none":
            kernel = LOAD_KERNELS[self.load]
            self._beside = [Companion(self.cpus[-1], kernel, self.load_buffer)]
        elif self.spin and len(self.cpus) > 1:
            self._beside = [Companion(self.cpus[-1])]

    def sample(self, point: Point) -> Sample:
        """Measure `point` once; takes some 20 ms."""
        if point.figure == "bandwidth":
            return self._bandwidth(point)
        return self._latency(point)

    def _bandwidth(self, point: Point) -> Sample:
        from nearfar import _measure

        # An idle companion's spin would only take a core from the kernel's threads.
        beside = self._beside if self.load != "none" else []
        cpus = list(self.cpus[: point.threads])
        value = _measure.bandwidth(
            point.kernel, self.buffer, cpus, BANDWIDTH_NS, BANDWIDTH_WARM_UP_NS, beside
        )
        return Sample(value)

    def _latency(self, point: Point) -> Sample:
        from nearfar import _measure

        memory = self.regions[point.page_bytes, point.region_bytes]
        beside = self._beside
        if point.figure == "loaded":
            beside = self._generators(point)
        ns, drawn = _measure.time_alone(
            point.kernel,
            memory,
            TIMED_ACCESSES,
            warm_up_accesses(point.region_bytes, self.llc_bytes),
            self.cpus[0],
            point.chains,
            beside,
        )
        return Sample(ns, drawn + 64 / ns)  # the chase itself moves a line per access

    def _generators(self, point: Point) -> list[Companion]:
        from nearfar._measure import Companion

        if point.pause_ns is None:
            return self._beside
        others = self.cpus[1:]
        return [
            Companion(cpu, point.generator, self.buffer, part, len(others), point.pause_ns)
            for part, cpu in enumerate(others)
        ]

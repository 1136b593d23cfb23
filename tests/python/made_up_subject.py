"""A subject computed by a formula: latency from region, pages, order and timing."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from nearfar.measure.subject import SubjectFacts
from nearfar.samples.point import Sample, SamplePoint


@dataclass
class MadeUpMemory:
    """Implements Subject: a buffer, small pages that cost, a prefetcher, a clock."""

    medium_ns: float = 300.0
    buffer_ns: float = 180.0
    buffer_bytes: int = 0
    """0: no buffer."""
    block_bytes: int = 64
    tlb_ns: float = 0.0
    """Time that a small page adds to an access beyond the TLB's reach."""
    tlb_reach_bytes: int = 8 << 20
    clock_ns: float = 20.0
    each_extra_ns: float = 0.0
    prefetched_strides: tuple[int, ...] = ()
    adjacent: bool = False
    page_sizes: tuple[int, ...] = (2 << 20, 4096)
    largest_bytes: int = 1 << 30
    noise: float = 0.005
    kernels: frozenset[str] = frozenset({"chase", "chase-sequential"})
    disturbed: float = 0.0
    dice: random.Random = field(default_factory=lambda: random.Random(7))
    asked: list[SamplePoint] = field(default_factory=list)

    def facts(self) -> SubjectFacts:
        return SubjectFacts(
            page_sizes=self.page_sizes,
            largest_bytes=self.largest_bytes,
            buffer_bytes=self.largest_bytes,
            threads=1,
            kernels=self.kernels,
            llc_bytes=0,
            timer_overhead_ns=self.clock_ns,
            timer_resolution_ns=0.5,
        )

    def truth_ns(self, point: SamplePoint) -> float:
        reach = point.window_bytes or point.region_bytes
        lines = max(point.access_bytes, 64) // 64
        if point.kernel == "chase-sequential":
            stride = point.stride_bytes or 64
            if stride in self.prefetched_strides:
                return 8.0
            new_blocks = min(stride / self.block_bytes, 1.0)
            return new_blocks * self.medium_ns + (1 - new_blocks) * self.buffer_ns
        hit = min(self.buffer_bytes / reach, 1.0)
        first = hit * self.buffer_ns + (1 - hit) * self.medium_ns
        rest = 10.0 if self.adjacent else first
        if self.block_bytes > 64 and not self.adjacent:
            rest = self.buffer_ns
        value = (first + (lines - 1) * rest) / lines
        if point.page_bytes == 4096 and reach > self.tlb_reach_bytes:
            value += self.tlb_ns
        return value + (self.each_extra_ns if point.each else 0.0)

    def sample(self, point: SamplePoint) -> Sample:
        if point.kernel not in self.kernels or point.region_bytes > self.largest_bytes:
            raise ValueError(point)
        self.asked.append(point)
        value = self.truth_ns(point) * self.dice.gauss(1, self.noise)
        each = np.full(100, value, np.float32) if point.each else None
        return Sample(value, each_ns=each, disturbed=self.dice.random() < self.disturbed)

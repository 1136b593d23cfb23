"""Memories that can be measured, apart from how they are reached.

Everything above this file (rounds, surfaces, inference) sees only a `Subject`. There are two:
`sampler.Sampler` (real memory, native kernels) and the simulated devices of ``model:NAME``, whose
truth is known. What points and samples do not distinguish cannot be distinguished at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from nearfar.samples.point import Sample, SamplePoint


@dataclass(frozen=True)
class SubjectFacts:
    """What a subject says of itself before anything is measured."""

    page_sizes: tuple[int, ...]
    """Obtained, largest first; the first holds `buffer_bytes`."""
    largest_bytes: int
    """Largest region that a chase may have."""
    buffer_bytes: int
    """Of bandwidth kernels and generators."""
    threads: int
    """Most that may run at once."""
    kernels: frozenset[str]
    llc_bytes: int
    """Last-level cache before the memory as the machine claims it; 0: none."""
    timer_overhead_ns: float
    """Of timing a single access, median; taken off already."""
    timer_resolution_ns: float


class Subject(Protocol):
    """A memory that can be measured."""

    def facts(self) -> SubjectFacts:
        """Return what is known before measuring."""

    def sample(self, point: SamplePoint) -> Sample:
        """Measure `point` once: some 20 ms on real memory.

        Raises ValueError for a kernel that is not among `SubjectFacts.kernels`, or a region beyond
        `SubjectFacts.largest_bytes`.
        """

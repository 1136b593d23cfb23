"""Memories that can be measured, apart from how they are reached.

Everything above this file (rounds, surfaces, inference) sees only a `Subject`. There are two:
`sampler.Sampler` (real memory, native kernels) and the simulated devices of ``model:NAME``, whose
truth is known. What points and samples do not distinguish cannot be distinguished at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

from nearfar.samples.point import Sample, SamplePoint

Technology = Literal[
    "dram", "remote-dram", "hbm", "cxl", "pmem", "nvdimm", "emulated", "file", "paged", "other"
]

CACHES_FACT = "caches_by_the_kernel"
"""Key in the profile's environment of the data caches' sizes, from sysfs, the first level first."""


@dataclass
class OpenedMemory:
    """A subject that is ready to be measured, and what is known of its memory."""

    subject: Subject
    what: str
    """For the profile's title: ``dram of AMD EPYC``."""
    citation: str
    technology: Technology
    capacity_bytes: int | None = None
    durable: bool = False
    persists_through: str = ""
    cpus: tuple[int, ...] = ()
    """CPUs: the first times, the others run co-runners; empty: simulated."""
    llc_bytes: int = 0
    inner_bytes: int = 0
    """The largest data cache before the last level; 0: none."""
    contended: bool = False
    """Whether another core loads the memory all the while."""
    facts: dict[str, str] = field(default_factory=dict)
    """For the profile's environment."""
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class SubjectFacts:
    """Facts of a subject that are known before measuring."""

    page_sizes: tuple[int, ...]
    """Obtained, largest first; the first holds `buffer_bytes`."""
    largest_bytes: int
    """Largest region that a chase may have."""
    buffer_bytes: int
    """Size of the buffer of bandwidth kernels and generators."""
    threads: int
    """Maximum number of threads at once."""
    kernels: frozenset[str]
    llc_bytes: int
    """Last-level cache before the memory as the machine claims it; 0: none."""
    timer_overhead_ns: float
    """Median overhead of timing a single access, ns; subtracted already."""
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

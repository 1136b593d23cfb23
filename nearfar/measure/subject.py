"""What is measured, apart from how it is reached: a point, a sample of it, a subject that samples.

Everything above this file (rounds, surfaces, inference, pictures) sees only a `Subject`. There are
two: `sampler.Sampler` (real memory, native kernels) and the simulated devices of ``model:NAME``,
whose truth is known. What cannot be told apart by points and samples cannot be told apart at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Group = Literal[
    "latency", "chains", "bandwidth", "loaded", "persist", "amplification", "ways", "queue",
    "interleave", "overwrite", "instrument", "protocol", "split",
]  # fmt: skip
"""Which surface or inference a point is for; names its samples in files and pictures."""


@dataclass(frozen=True)
class Point:
    """One thing measured once a round.

    How it is timed follows from what is asked: `each` - every access by itself; `threads` > 1, or
    a kernel without dependent loads - GB/s; otherwise ns per access of one thread.
    """

    figure: Group
    kernel: str
    page_bytes: int
    region_bytes: int
    chains: int = 1
    threads: int = 1
    generator: str = ""
    """Kernel that the other cores run meanwhile."""
    pause_ns: float | None = None
    """Rest of each generator after 2 KiB; None: the generators do not run."""
    access_bytes: int = 64
    """What one access touches, its lines one after the other. Of a chase: lines of such a block
    are visited in turn (dependent), blocks in random order; value stays ns per 64-byte line."""
    stride_bytes: int = 0
    """Distance of neighbouring accesses; 0: `access_bytes`. A strided chase visits only every
    stride of the region, in random order."""
    window_bytes: int = 0
    """Random accesses stay in a window of so much that moves on; 0: the whole region."""
    read_share: float | None = None
    """Reads over all lines, 0 to 1, of the kernels `mixed` and `mixed-nt`; also as a generator."""
    fence_every: int = 1
    """Accesses between two fences, of the persist kernels."""
    rest_ns: float = 0.0
    """Rest of the timed thread between two accesses, not timed."""
    each: bool = False
    """Whether single accesses are timed (`Sample.each_ns`)."""
    accesses: int = 0
    """Accesses timed; 0: as many as the subject finds right."""


@dataclass(frozen=True)
class Sample:
    """One sample of a point: ns per access (of a chase: per line), or GB/s of payload."""

    value: float
    drawn_gb_per_s: float = 0.0
    """What load generators and the timed thread drew meanwhile; only with a generator."""
    each_ns: NDArray[np.float32] | None = None
    """In order; the timer's cost is taken off. Only with `each`."""
    disturbed: bool = False
    """Whether the kernel says that something else ran on the core meanwhile (steal, preemption)."""


@dataclass(frozen=True)
class Facts:
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

    def facts(self) -> Facts:
        """Return what is known before measuring."""

    def sample(self, point: Point) -> Sample:
        """Measure `point` once: some 20 ms on real memory.

        Raises ValueError for a kernel that is not among `Facts.kernels`, or a region beyond
        `Facts.largest_bytes`.
        """

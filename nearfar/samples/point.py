"""One thing that is measured, and one sample of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Group = Literal[
    "latency", "chains", "bandwidth", "loaded", "persist", "amplification", "ways", "queue",
    "interleave", "overwrite", "instrument", "protocol", "split",
]  # fmt: skip
"""Surface or inference that a point is for; names its samples in files and pictures."""


@dataclass(frozen=True)
class SamplePoint:
    """One thing measured once a round.

    Timing follows from the fields: with `each`, every access by itself; with `threads` > 1 or a
    kernel without dependent loads, GB/s; otherwise ns per access of one thread.
    """

    figure: Group
    kernel: str
    page_bytes: int
    region_bytes: int
    chains: int = 1
    threads: int = 1
    generator: str = ""
    """Kernel that the other cores run at the same time."""
    pause_ns: float | None = None
    """Rest of each generator after 2 KiB; None: the generators do not run."""
    access_bytes: int = 64
    """Bytes of one access, its lines one after the other. A chase visits the lines of such a block
    in turn (dependent), blocks in random order; the value stays ns per 64-byte line."""
    stride_bytes: int = 0
    """Distance of neighbouring accesses; 0: `access_bytes`. A strided chase visits only every
    stride of the region, in random order."""
    window_bytes: int = 0
    """Size of a moving window that random accesses stay in; 0: the whole region."""
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
    """Bandwidth of load generators and the timed thread; only with a generator."""
    each_ns: NDArray[np.float32] | None = None
    """Times in order, without the timer's cost. Only with `each`."""
    disturbed: bool = False
    """Whether something else ran on the core (steal, preemption), as the kernel reports."""

"""How a workload profile came about: program, simulated caches, sampling, other profiles."""

from __future__ import annotations

from typing import Literal

import msgspec

from nearfar.base.estimate import Estimate
from nearfar.documents.fields import Amount, Bytes, Positive, Size, Whole


class CacheModel(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The simulated last-level cache."""

    size_bytes: Positive
    ways: Positive
    line_bytes: Positive
    origin: str
    """"detected", or the option that overrode it."""


class CoreModel(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Simulated caches of each thread's core, besides the shared last level."""

    private_bytes: Bytes
    """Size of the second-level cache of a core; 0: the processor does not report it, not
    simulated."""
    tlb_entries: Whole
    """Entries of the last translation cache, for pages of either size."""
    tlb_origin: Literal["detected", "assumed"]


class Sampling(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Sampling of lines."""

    rate: Positive
    """One line in `rate` was simulated; 1: all."""
    sampled_accesses: Whole
    sampled_misses: Whole
    relative_error: Amount
    """95 % half-width of the total miss count that sampling alone implies."""
    page_rate: Positive = 256
    """Page curves are of one page in so many; profiles that do not say so: 256."""


class LiveSample(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Bytes alive per object at one moment of the instrumented run."""

    time_ns: Amount
    """Since start."""
    phase: str
    bytes_by_object: dict[str, Bytes]
    """Object id (as text) to bytes; objects below 1 % of the total are under ``other``."""


class Program(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Command and build that ran."""

    command: list[str]
    executable: str
    compiler: str
    """The compiler that both builds were made with, such as "clang 16.0.6"."""
    threads_seen: Whole
    processes_seen: Whole
    exit_status: str
    """"exited 0", "was killed by SIGTERM (by nearfar after --duration)"."""
    plain_executable: str
    """The build whose runs gave near time."""
    plain_digest: str = ""
    """SHA-256 of that build; empty in older profiles."""


class Extrapolated(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One number of a profile of a size that was never run."""

    quantity: Literal["near time", "operations", "size", "accesses", "misses", "write-backs"]
    """Near time in ns of CPU, size in bytes, the rest counts."""
    phase: str = ""
    """Empty for sizes of objects."""
    object: Whole | None = None
    """None: of the whole phase."""
    law: str
    """Growth law: ``n log n``, ``n^1.5``, or its formula."""
    held_out_error: Amount
    """Largest |ln(predicted / profiled)| of the larger profiled sizes from the smaller ones."""
    estimate: Estimate


class Extrapolation(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Derivation of a profile from those of other sizes."""

    parameter: str
    target: Amount
    sizes: list[Size]
    """Sizes that were profiled, ascending."""
    profiles: list[str]
    """Their files."""
    quantities: list[Extrapolated]

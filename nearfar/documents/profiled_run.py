"""Origin of a workload profile: program, simulated caches, sampling, other profiles."""

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
    """Simulated caches of each thread's core, in addition to the shared last level."""

    private_bytes: Bytes
    """Size of a core's second-level cache; 0: unknown and not simulated."""
    tlb_entries: Whole
    """Entries of the last-level TLB, for pages of either size."""
    tlb_origin: Literal["detected", "assumed"]


class Sampling(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Sampling of lines."""

    rate: Positive
    """One line in `rate` was simulated; 1: all."""
    sampled_accesses: Whole
    sampled_misses: Whole
    relative_error: Amount
    """95 % half-width of the total miss count due to sampling alone."""
    page_rate: Positive = 256
    """Page curves sample one page in this many; profiles without this value: 256."""


class LiveSample(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Bytes alive per object at one moment of the instrumented run."""

    time_ns: Amount
    """Since start."""
    phase: str
    bytes_by_object: dict[str, Bytes]
    """Object id (as text) to bytes; objects below 1 % of the total are under ``other``."""


class Program(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Command and build that ran; threads are the most alive at once, summed over processes."""

    command: list[str]
    executable: str
    compiler: str
    """Compiler of both builds, such as "clang 16.0.6"."""
    threads_seen: Whole
    processes_seen: Whole
    exit_status: str
    """"exited 0", "was killed by SIGTERM (by nearfar after --duration)"."""
    plain_executable: str
    """The build whose runs gave near time."""
    plain_digest: str = ""
    """SHA-256 of that build; empty in older profiles."""


class Extrapolated(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One number in a profile of a size that was not run."""

    quantity: Literal["near time", "operations", "size", "accesses", "misses", "write-backs"]
    """Near time in ns of CPU, size in bytes, the rest counts."""
    phase: str = ""
    """Empty for sizes of objects."""
    object: Whole | None = None
    """None: the number is of the whole phase."""
    law: str
    """Growth law: ``n log n``, ``n^1.5``, or its formula."""
    held_out_error: Amount
    """Largest |ln(predicted / profiled)| of larger profiled sizes, predicted from smaller ones."""
    estimate: Estimate


class Extrapolation(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """How a profile was derived from profiles of other sizes."""

    parameter: str
    target: Amount
    sizes: list[Size]
    """Sizes that were profiled, ascending."""
    profiles: list[str]
    """Their files."""
    quantities: list[Extrapolated]

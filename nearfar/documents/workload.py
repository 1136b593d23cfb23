"""WorkloadProfile: where a program touches memory, per object and phase.

Counts are estimates for the whole run (sampled counts times the sampling rate). A *miss* is a miss
of the simulated last-level cache that `cache` describes. The shares in `classes` refer to the same
misses.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import ClassVar, Literal

import msgspec

from nearfar.base.estimate import Estimate
from nearfar.documents.bursts import Bursts
from nearfar.documents.counters import CounterInterval
from nearfar.documents.fields import MOST, Amount, Bytes, Part, Size, Whole
from nearfar.documents.header import Document
from nearfar.documents.profiled_run import (
    CacheModel,
    CoreModel,
    Extrapolation,
    LiveSample,
    Program,
    Sampling,
)
from nearfar.documents.touched_field import TouchedField


class AccessClasses(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A count, divided by how the accesses' addresses are computed."""

    chase: Amount = 0.0
    """The address was loaded by the previous access, around a loop: serial."""
    indirect: Amount = 0.0
    """The address depends on a load, but not on the loop's own previous one."""
    stream: Amount = 0.0
    """The address advances by a constant: prefetchable."""
    opaque: Amount = 0.0
    """Computed without loads, or unknown."""

    def total(self) -> float:
        """Return the sum over classes."""
        return self.chase + self.indirect + self.stream + self.opaque

    def times(self, factor: float) -> AccessClasses:
        """Return every class multiplied by `factor`."""
        return AccessClasses(
            chase=self.chase * factor,
            indirect=self.indirect * factor,
            stream=self.stream * factor,
            opaque=self.opaque * factor,
        )


class Traffic(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Effect of some accesses on the simulated last-level cache and the memory behind it."""

    accesses: Amount = 0.0
    """Accesses that instrumented code made (accesses merged in one block count once)."""
    read_misses: AccessClasses = msgspec.field(default_factory=AccessClasses)
    write_misses: AccessClasses = msgspec.field(default_factory=AccessClasses)
    """Stores that missed: a line is read for ownership unless it was a whole-line store."""
    read_sequential: AccessClasses = msgspec.field(default_factory=AccessClasses)
    """Read misses that advance from page to page, whatever the code looks like (a merge, a list
    stored in order): a prefetcher follows them. Empty in older profiles."""
    write_sequential: AccessClasses = msgspec.field(default_factory=AccessClasses)
    """The same part of `write_misses`."""
    write_backs: Amount = 0.0
    """Lines written to memory: dirty ones that were evicted or flushed, and those that
    non-temporal stores filled."""
    flushes: Amount = 0.0
    """Lines that the program flushed (clwb, clflushopt, clflush), dirty or not; all are counted. 0
    if flushes are not counted, see `WorkloadProfile.flushes_counted`."""
    fences: Amount = 0.0
    """Fences that waited for flushed or non-temporally stored lines; a fence counts for the object
    of the last of these lines. Fences that wait for no line are not counted."""
    nt_store_bytes: Amount = 0.0
    """Bytes of non-temporal stores; these stores are not among accesses and misses."""
    log_bytes: Amount = 0.0
    """Bytes of which transactions (libpmemobj) took snapshots before changing them."""
    syncs: Amount = 0.0
    """Calls of msync."""
    sync_bytes: Amount = 0.0
    """Bytes of the ranges of these calls."""
    tlb_misses_4k: Amount = 0.0
    """Page walks if all pages have 4 KiB: misses of the cores' last-level TLB
    (`WorkloadProfile.core`). Too high if several lines of a page are touched in random order."""
    tlb_misses_2m: Amount = 0.0
    """The same if all pages have 2 MiB."""
    private_misses: Amount = 0.0
    """Accesses that miss each thread's private cache (`CoreModel.private_bytes`) and so reach the
    shared last level. `misses()` are a part of them, but counted on other lines."""
    transfers: Amount = 0.0
    """Accesses to lines that another thread wrote last and that are still cached."""

    def misses(self) -> float:
        """Return the lines fetched from memory."""
        # Summed here, without `total()`: predictions ask for it once for each object and count.
        read, write = self.read_misses, self.write_misses
        reads = read.chase + read.indirect + read.stream + read.opaque
        return reads + (write.chase + write.indirect + write.stream + write.opaque)


class Frame(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A place in the program."""

    function: str
    file: str = ""
    line: Whole = 0
    module: str = ""
    column: Whole = 0
    """Column of the call, which distinguishes several calls on one line; 0: unknown."""


class MemoryObject(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Memory allocated at one site; or the stack, the globals, a file."""

    id: Whole
    """Index into every list of per-object traffic."""
    name: str
    """Short and unique in this profile: ``dictExpand dict.c:197``."""
    kind: Literal["heap", "mmap", "file", "stack", "globals", "unknown"]
    frames: list[Frame]
    """Innermost first, without wrappers such as zmalloc; empty for stack and globals."""
    allocations: Whole
    allocated_bytes: Bytes
    peak_live_bytes: Bytes
    """Most bytes of this object alive at once."""
    live_bytes_at_peak: Bytes
    """Bytes alive when the program's total was greatest: these add up to the program's memory."""
    size_bytes: Bytes
    """Memory that a plan must provide: peak of live bytes, at most those that had pages."""
    told_by: Whole = 1
    """Number of `frames` that distinguish it from other objects and identify it in another run."""
    via: str = ""
    """The container's function that the first frame called, such as ``vector::emplace_back``."""
    split: str = ""
    """Part of its site: a size class such as ``64-127 B``, the program's own tag, or both."""
    joined_calls: Whole = 0
    """Calls on one line that it joins, as debug information has no columns; 0: none."""
    range_bytes: Bytes = 0
    """Size of each range in `ObjectTraffic.ranges`; 0: traffic was not counted by range."""


class MissCurve(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Misses that caches of `WorkloadProfile.curve_bytes` would have, never rising.

    Of a fully associative cache that keeps the most recent lines, shared by all threads; from a
    constant number of sampled lines, so that it reaches any size.
    """

    read: list[Amount]
    write: list[Amount]


FIRST_TIME_EDGE = 512
"""Upper bound of touches in the first count of `PageCurve.times`."""


class PageCurve(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Touches of pages of 4 KiB, from a sample of them: what memory moved in pages would do.

    Lists over `WorkloadProfile.page_curve_bytes` are of a near memory of that size that keeps the
    most recent pages, all objects in one.
    """

    first: Amount
    """Pages touched for the first time."""
    faults: list[Amount]
    """Touches of pages that had left near memory since their last touch; never rising."""
    written: list[Amount]
    """Pages brought back by faults that had been stored to since they last came in."""
    times: list[Amount]
    """Touches of pages by the number of page touches since the page's last one: below 512, 768,
    1024, 1536 and so on, two counts per factor of 2. A touch of the same page as the previous one
    does not count."""
    compressed_share: float | None = None
    """Mean size of a page's content after a compression like LZ4's, divided by 4096 bytes; None:
    not measured."""
    compression_work: float | None = None
    """Mean places that compression searches in a page (page_content.hpp); None: not measured."""


class RangeTraffic(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Traffic of an object's large blocks (1 MiB or more), mappings or file, by position.

    A block has the lowest free position in its object that has space for it; a file's positions
    are its offsets. One count for each `MemoryObject.range_bytes` of positions, from 0 on.
    """

    read_misses: list[Amount]
    write_misses: list[Amount]
    write_backs: list[Amount]
    second_half: list[Amount]
    """Part of the sum of these three that belongs to one half of the sampled lines, chosen by hash:
    both halves are independent samples of the same traffic."""


class ObjectTraffic(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Traffic of one object in one phase."""

    object: Whole
    traffic: Traffic
    curve: MissCurve | None = None
    """None: too few touches, or an older profile."""
    page_curve: PageCurve | None = None
    """None: no page of it was sampled, or an older profile."""
    ranges: RangeTraffic | None = None
    """None: no miss in large blocks, or an older profile."""
    intervals: list[CounterInterval] = []
    """Counts of a whole program by interval, whose sum is `traffic`; empty: not counted in this
    way. Each has `cpu_time_ns`, `llc_misses` (lines for which the program waits), `read_bytes`
    (these and prefetched lines) and `write_bytes`."""


class Instruction(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One load or store of the program's code."""

    function: str
    file: str
    line: Whole
    column: Whole
    operation: Literal["load", "store", "both"]
    access_class: Literal["chase", "indirect", "stream", "opaque"]
    bytes: Bytes
    fields: list[TouchedField] = []
    """Fields that it, and accesses merged with it, touch, in the order of touching. Empty: neither
    debug information nor TBAA gives the type, or an older profile."""


class InstructionTraffic(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Misses of one instruction in one phase; only those that matter are kept (see `kept`)."""

    instruction: Whole
    """Index into `WorkloadProfile.instructions`."""
    object: Whole
    misses: Amount
    accesses: Amount = 0.0
    """0 in older profiles."""


class Phase(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A part of the run between marks; the unmarked rest is the phase called ``-``."""

    name: str
    near_cpu_time_ns: Estimate
    """CPU time of all threads in the *plain* build, median over `near_repetitions`."""
    near_repetitions: Whole
    near_wall_time_ns: Amount
    operations: Amount | None = None
    """Number of operations (requests, steps) in the phase, if the program or driver reports it."""
    objects: list[ObjectTraffic]
    instructions: list[InstructionTraffic]
    counted: dict[str, Amount] = {}
    """Processor counts by the names of CounterInterval; empty: not counted."""


class CountCheck(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Counts of one phase by an observer besides the profile's source: QEMU's.

    It runs the plain build and sees every instruction of the first process, libraries and inline
    assembly included, but not how addresses are computed.
    """

    phase: str
    source: Literal["qemu"]
    complete: bool
    """Whether it observed the whole phase; False: its counts are those of a part."""
    relative_error: Amount
    """95 % half-width of its misses due to sampling."""
    objects: list[ObjectTraffic]
    """By the profile's objects."""


class WorkloadProfile(Document, kw_only=True, forbid_unknown_fields=True):
    """Profile of one run of a program."""

    KIND: ClassVar[str] = "workload-profile"
    MADE_BY: ClassVar[str] = "nearfar profile"
    VERSION: ClassVar[int] = 1

    program: Program
    size: dict[str, float] = {}
    """The size parameters of the run, for example {"n": 1e5}."""
    cache: CacheModel
    sampling: Sampling
    core: CoreModel | None = None
    """None: page walks, private misses and transfers were not counted."""
    flushes_counted: bool = False
    """Whether flushes, fences and non-temporal stores were observed: then 0 means none."""
    curve_bytes: list[Size] = []
    """Cache sizes of every `MissCurve`, ascending, 32 KiB to 1 TiB."""
    page_curve_bytes: list[Size] = []
    """Sizes of near memory of every `PageCurve`, ascending, 16 per factor of 2; the first one is
    256 KiB, and at the last one there are no faults. Empty: pages were not counted."""
    instrumented_slowdown: Amount
    """CPU time of the instrumented run over the plain one."""
    seen_share: Part = 1.0
    """Largest share of the program's CPU time to which this profile, including its near times,
    applies; 1: all of it. Less if only a first part could be observed and timed."""
    seen_share_at_most: bool = False
    """Whether the plain run was stopped early, so that less than `seen_share` was observed."""
    uncounted_share: Part = 0.0
    """Share of near time in processes whose accesses were not counted."""
    uncounted_command: str = ""
    """Command of the process with most of that share; empty: none was seen."""
    objects: list[MemoryObject]
    instructions: list[Instruction]
    phases: list[Phase]
    live: list[LiveSample]
    warnings: list[str] = []
    """Missing data and reasons: functions that are not instrumented, full tables."""
    bursts: Bursts | None = None
    """Short series of instructions in full; only if `profile --bursts` requested them."""
    checks: list[CountCheck] = []
    """Second counts of the same phases, if QEMU ran (for bursts, or because code was omitted)."""
    extrapolation: Extrapolation | None = None
    """If set: this size was not run; `nearfar scale` computed the profile."""

    def contradiction(self) -> str:
        """Return contradictions between references, lengths and orders; empty: none."""
        return next(_contradictions(self), "")


def _contradictions(profile: WorkloadProfile) -> Iterator[str]:
    """Yield each contradiction in words."""
    for at, item in enumerate(profile.objects):
        if item.id != at:
            yield f"objects[{at}] has the id {item.id}; ids count from 0"
    if any(big <= small for small, big in pairwise(profile.curve_bytes)):
        yield "curve_bytes must rise"
    if name := next((name for name, value in profile.size.items() if not value <= MOST), None):
        yield f"size {name} must be at most {MOST:g}"
    names = [phase.name for phase in profile.phases]
    if twice := next((name for name in names if names.count(name) > 1), None):
        yield f"two phases are called {twice!r}"
    for phase in profile.phases:
        yield from _of_phase(profile, phase)
    for check in profile.checks:
        yield from _of_rows(profile, check.objects, f"the check of phase {check.phase!r}")


def _of_phase(profile: WorkloadProfile, phase: Phase) -> Iterator[str]:
    where = f"phase {phase.name!r}"
    time = phase.near_cpu_time_ns
    if not 0.0 <= time.low <= time.value <= time.high <= MOST:
        yield f"{where}: near_cpu_time_ns must be at least 0, with low <= value <= high"
    yield from _of_rows(profile, phase.objects, where)
    for row in phase.instructions:
        if row.object >= len(profile.objects) or row.instruction >= len(profile.instructions):
            yield f"{where}: a row is of an object or an instruction that is not listed"


def _of_rows(profile: WorkloadProfile, rows: list[ObjectTraffic], where: str) -> Iterator[str]:
    seen = set()
    for row in rows:
        if row.object >= len(profile.objects):
            yield f"{where}: there is no object {row.object}; there are {len(profile.objects)}"
        if row.object in seen:
            yield f"{where}: object {row.object} has two rows"
        seen.add(row.object)
        if row.ranges is not None:
            yield from _of_ranges(row.ranges, row.object, where)
        if row.curve is not None or row.page_curve is not None:
            yield from _of_curves(profile, row, where)


def _of_ranges(ranges: RangeTraffic, item: int, where: str) -> Iterator[str]:
    lists = (ranges.read_misses, ranges.write_misses, ranges.write_backs)
    if any(len(counts) != len(ranges.second_half) for counts in lists):
        yield f"{where}: the ranges of object {item} have lists of several lengths"
    sums = [sum(counts) for counts in zip(*lists, strict=False)]
    if any(half > 1.000001 * lines for half, lines in zip(ranges.second_half, sums, strict=False)):
        yield f"{where}: half of a range of object {item} has more than all its lines"


def _of_curves(profile: WorkloadProfile, row: ObjectTraffic, where: str) -> Iterator[str]:
    for name, points, curves in (
        (
            "curve_bytes",
            len(profile.curve_bytes),
            (row.curve.read, row.curve.write) if row.curve else (),
        ),
        (
            "page_curve_bytes",
            len(profile.page_curve_bytes),
            (row.page_curve.faults, row.page_curve.written) if row.page_curve else (),
        ),
    ):
        for curve in curves:
            if len(curve) != points:
                yield (
                    f"{where}: a curve of object {row.object} has {len(curve)} points, and "
                    f"{name} has {points}"
                )

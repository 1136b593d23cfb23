"""CrashReport: what power cuts could leave of a pool; CrashState: one such image, to replay."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.documents.header import Document
from nearfar.documents.workload import Frame


class CrashLine(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A cache line of the pool that was stored to and not yet durable, in one crash state."""

    offset: int
    """Bytes from the pool's begin; a multiple of 64."""
    stores: int
    """Stores to it since it was last durable."""
    survived: int
    """Number of them, in program order, that are in the state."""
    flushed: int
    """Number of them that were flushed and waited only for a fence."""
    frames: list[Frame]
    """Stack of the last store that survived (in `survived`) or the first that did not (in
    `lost`), innermost first."""
    object: CrashObject | None = None
    """Owner of the line; None: the pool is not libpmemobj's, or it is unknown."""
    what: str = ""
    """The operation in words, if the data is in files; the offset is in its file."""


class CrashBug(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A way in which a power cut leaves a pool that the checker refuses, reported once."""

    id: int
    symptom: str
    """End of the checker: ``exit 1``, ``SIGSEGV``, ``hang``."""
    said: str
    """The end of what the checker wrote."""
    point: int
    """Number of the failure point in the run, from 0."""
    at: Literal["fence", "operation", "end", "store", "call", "output"]
    """The power goes just before this fence, at this operation's end, at the program's end, or
    (with caches that survive) just after this store; of files: just after this call, or after the
    program printed something."""
    operation: int | None
    """Operation in flight or just ended, as the program numbers them; None: it marks none."""
    frames: list[Frame]
    """Stack of the fence or store."""
    survived: list[CrashLine]
    """The fewest lines found that must be in memory for the symptom."""
    lost: list[CrashLine]
    """Other lines that must be missing for the symptom."""
    cause: str = ""
    """The lint about a store that it needs, if any: ``never flushed: fill log.h:40``."""
    states: int
    """Crash states with this bug."""
    found_states: int = 0
    """States judged when it was found, itself included."""
    found_s: float = 0.0
    """Seconds from the begin of the run to then."""
    replay: str
    """File for `nearfar crash replay`; empty: none was written."""
    models: list[str] = []
    """Models of file systems that allow the state, if the data is in files."""


class CrashObject(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An object of libpmemobj that a byte of the pool belongs to."""

    what: Literal["root", "allocation", "log", "heap"]
    """A log or the heap is libpmemobj's own, with neither size nor type."""
    offset: int
    """Bytes from the pool's begin to its first byte."""
    size: int
    """Requested bytes."""
    type_number: int
    byte: int
    """Byte of the object that the report is about."""


class CrashLint(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A habit that is suspicious or slow, apart from what the checker says."""

    kind: str
    """Name of the lint: one of those in nearfar/crash/lints."""
    times: int
    offset: int
    """Bytes from the pool's begin, of the first."""
    frames: list[Frame]
    """Stack of the store, flush, snapshot or allocation."""
    note: str = ""
    """Details of the first, in words."""
    object: CrashObject | None = None
    """Object at the offset; None: the pool is not libpmemobj's, or the object is unknown."""


class CrashPlace(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A line of the program that stored to the pool, flushed or fenced."""

    function: str
    file: str
    line: int
    stores: int
    flushes: int
    fences: int


class CrashMissed(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A line of the program that may store to the pool or make it durable, and did not."""

    function: str
    file: str
    line: int
    what: str
    """Function that it calls, such as ``pmem_persist``, or ``a store``."""


class CrashCode(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Lines of the program, by its debug information and machine code."""

    lines: int
    """Lines that call what makes data durable, allocates or snapshots, or store through a pointer
    in a function that changed the pool."""
    reached: int
    """Lines of these that did so to the pool in this run."""
    missed: list[CrashMissed]
    """The others, by file and line; the first 50."""


class CrashFileRun(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A run whose data is in files."""

    models: list[str]
    """Models of file systems that were explored."""
    operations: int
    """Calls that changed files or folders."""
    syncs: int
    """Calls that made operations durable."""
    outputs: int
    """Times that the program printed something."""


class CrashReport(Document, kw_only=True, forbid_unknown_fields=True):
    """Result of one exploration."""

    KIND: ClassVar[str] = "crash-report"
    VERSION: ClassVar[int] = 1

    program: list[str]
    check: str
    exit_status: str
    pool_bytes: int
    eadr: bool
    """Caches survive the cut: stores are lost in order only."""
    seed: int
    operations: int
    """Operations that ended, as the program marks them."""
    stores: int
    """Changes of lines, one for each instruction that made it; of a store of more than 8 bytes,
    which may tear, one for each word."""
    flushes: int
    fences: int
    points: int
    """Failure points of the run: fences, ends of operations, the program's end."""
    points_explored: int
    store_sites: int
    """Places of the program that stored into the pool."""
    fence_sites: int
    states: int
    """Different images that were judged."""
    duplicates: int
    """States that were not judged again because their image had been judged."""
    complete: bool
    """Every state was judged; false: the exploration ended first."""
    ended: Literal["", "states", "seconds", "first bug", "interrupted"] = ""
    """Reason for the end of an incomplete exploration; empty: it is complete."""
    resumable: bool = True
    """False: orders of threads were chosen, which `--resume` cannot continue."""
    undecided: list[CrashBug] = []
    """Failures that are bugs unless the program flushes or fences where nearfar cannot see it."""
    unseen: str = ""
    """Why flushes or fences may not have been seen; empty: all were seen."""
    known: int = 0
    """Bugs that the baseline names, which `bugs` leaves out."""
    record_s: float
    """Wall time of the program under the recorder."""
    judge_s: float
    """Wall time of all the checker's runs, images included."""
    states_per_s: float
    bugs: list[CrashBug]
    lints: list[CrashLint]
    places: list[CrashPlace] = []
    """Lines of the program that stored into the pool, flushed or fenced, by file and line."""
    code: CrashCode | None = None
    """None: the program has no debug information, or it cannot be disassembled."""
    warnings: list[str] = []
    files: CrashFileRun | None = None
    """None: the data is a pool. The counts of stores, flushes and fences are of pools."""


class CrashPage(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A page of an image that is not all zeros."""

    offset: int
    content: bytes
    """Deflated (zlib)."""


class CrashFile(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A file, folder or symbolic link of an image."""

    path: str
    mode: int
    content: bytes | None
    """Deflated (zlib); None: a folder or a link."""
    target: str | None
    """Where a link leads."""


class CrashKey(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Values that a key of a map or set may have after a power cut."""

    allowed: list[str | None]
    """None: it may be absent."""
    anything: bool = False
    """Any value is allowed: the key may have existed before the run."""
    last: str = ""
    """The last operation on it that had completed, in words."""


class CrashExpected(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Content that the operations of a map or set may have left when the power went."""

    keys: dict[str, CrashKey]
    others: bool
    """Keys that no operation named may be there too."""


class CrashState(Document, kw_only=True, forbid_unknown_fields=True):
    """One image of a pool and the checker that refuses it: what `nearfar crash replay` takes."""

    KIND: ClassVar[str] = "crash-state"
    VERSION: ClassVar[int] = 1

    bug: CrashBug
    check: str
    more_checks: list[str] = []
    """Checks that judge the image if the first accepts it."""
    dump: str = ""
    """Prints what the image holds, which is compared with `expected`; empty: none."""
    expected: CrashExpected | None = None
    timeout_s: float
    done: int
    """Last operation that ended; -1: none."""
    begun: int
    in_flight: list[int] = []
    """Operations that had begun and not ended."""
    pool_bytes: int
    pages: list[CrashPage]
    files: list[CrashFile] | None = None
    """The image's files, in an order in which they can be made; None: it is a pool."""
    printed: bytes = b""
    """Output that the program had printed when the power went."""

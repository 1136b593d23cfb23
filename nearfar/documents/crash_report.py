"""CrashReport: bugs that power cuts reveal in a pool; CrashState: one such image, to replay."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.documents.header import Document
from nearfar.documents.workload import Frame


class CrashLine(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A cache line of the pool with stores that were not durable, in one crash state."""

    offset: int
    """Offset in bytes from the pool's start; a multiple of 64."""
    stores: int
    """Stores to the line since it was last durable."""
    survived: int
    """Number of these, in program order, that survive in the state."""
    flushed: int
    """Number of these that were flushed and waited only for a fence."""
    frames: list[Frame]
    """Stack of the last store that survived (in `survived`) or the first that did not (in
    `lost`), innermost first."""
    object: CrashObject | None = None
    """Owner of the line; None: unknown, or not a pool of libpmemobj."""
    what: str = ""
    """The operation in words, if the data is in files; `offset` is then in the file."""


class CrashBug(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A way in which a power cut leaves a pool that the checker refuses, reported once."""

    id: int
    symptom: str
    """How the checker ended: ``exit 1``, ``SIGSEGV``, ``hang``."""
    said: str
    """Last part of the checker's output."""
    point: int
    """Number of the failure point in the run, from 0."""
    at: Literal["fence", "operation", "end", "store", "call", "output"]
    """Moment of the power cut: just before this fence, at the end of this operation or of the
    program, or (if caches survive) just after this store. For files: just after this call, or after
    the program printed something."""
    operation: int | None
    """Operation in flight or just ended, in the program's numbering; None: operations are not
    marked."""
    frames: list[Frame]
    """Stack of the fence or store."""
    survived: list[CrashLine]
    """The smallest set found of lines that must be in memory for the symptom."""
    lost: list[CrashLine]
    """Other lines that must be missing for the symptom."""
    cause: str = ""
    """The lint about a store that the bug involves, if any: ``never flushed: fill log.h:40``."""
    states: int
    """Crash states with this bug."""
    found_states: int = 0
    """Number of states judged when it was found, including its own."""
    found_s: float = 0.0
    """Seconds from the start of the run until it was found."""
    replay: str
    """File for `nearfar crash replay`; empty: none was written."""
    models: list[str] = []
    """Models of file systems that allow the state, if the data is in files."""


class CrashObject(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An object of libpmemobj that a byte of the pool belongs to."""

    what: Literal["root", "allocation", "log", "heap"]
    """Its kind. A log or the heap belongs to libpmemobj itself and has neither size nor type."""
    offset: int
    """Offset in bytes from the pool's start to its first byte."""
    size: int
    """Requested bytes."""
    type_number: int
    byte: int
    """Byte of the object to which the report refers."""


class CrashLint(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A pattern that is suspicious or slow, independent of the checker's result."""

    kind: str
    """Name of the lint: one of those in nearfar/crash/lints."""
    times: int
    offset: int
    """Offset in bytes from the pool's start, for the first case."""
    frames: list[Frame]
    """Stack of the store, flush, snapshot or allocation."""
    note: str = ""
    """Details of the first case, in words."""
    object: CrashObject | None = None
    """Object at the offset; None: unknown, or not a pool of libpmemobj."""


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
    """Function that the line calls, such as ``pmem_persist``, or ``a store``."""


class CrashCode(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Lines of the program, by its debug information and machine code."""

    lines: int
    """Lines that call a function which makes data durable, allocates or snapshots, and lines that
    store through a pointer in a function that changed the pool."""
    reached: int
    """Number of these lines that did so to the pool in this run."""
    missed: list[CrashMissed]
    """The others, by file and line; at most 50."""


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
    MADE_BY: ClassVar[str] = "nearfar crash -o"
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
    """Changes of lines, one per instruction; a store of more than 8 bytes, which may tear, counts
    once per word."""
    flushes: int
    fences: int
    points: int
    """Failure points of the run: fences, ends of operations, the program's end."""
    points_explored: int
    store_sites: int
    """Places of the program that stored into the pool."""
    fence_sites: int
    states: int
    """Distinct images that were judged."""
    duplicates: int
    """States that were not judged because their image had been judged already."""
    complete: bool
    """Whether every state was judged; false: the exploration ended earlier."""
    ended: Literal["", "states", "seconds", "first bug", "interrupted"] = ""
    """Reason for the end of an incomplete exploration; empty: it is complete."""
    resumable: bool = True
    """False: thread orders were chosen, which `--resume` cannot continue."""
    undecided: list[CrashBug] = []
    """Failures that are bugs unless the program flushes or fences in a way that nearfar cannot
    observe."""
    unseen: str = ""
    """Why flushes or fences may have been missed; empty: none were missed."""
    known: int = 0
    """Number of bugs that the baseline lists and `bugs` omits."""
    record_s: float
    """Wall time of the program under the recorder."""
    judge_s: float
    """Wall time of all runs of the checker, including writing images."""
    states_per_s: float
    bugs: list[CrashBug]
    lints: list[CrashLint]
    places: list[CrashPlace] = []
    """Lines of the program that stored into the pool, flushed or fenced, by file and line."""
    code: CrashCode | None = None
    """None: the program has no debug information, or it cannot be disassembled."""
    warnings: list[str] = []
    files: CrashFileRun | None = None
    """None: the data is in a pool. The counts of stores, flushes and fences refer to pools."""


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
    """Target of a link."""


class CrashKey(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Values that a key of a map or set may have after a power cut."""

    allowed: list[str | None]
    """Allowed values; None: the key may be absent."""
    anything: bool = False
    """Whether any value is allowed, because the key may have existed before the run."""
    last: str = ""
    """The last completed operation on the key, in words."""


class CrashExpected(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Content that the operations on a map or set may have left at the power cut."""

    keys: dict[str, CrashKey]
    others: bool
    """Whether keys that no operation named may exist too."""


class CrashState(Document, kw_only=True, forbid_unknown_fields=True):
    """One image of a pool and the checker that refuses it: the input of `nearfar crash replay`."""

    KIND: ClassVar[str] = "crash-state"
    VERSION: ClassVar[int] = 1

    bug: CrashBug
    check: str
    more_checks: list[str] = []
    """Checks that judge the image if the first accepts it."""
    dump: str = ""
    """Command that prints the image's content, to be compared with `expected`; empty: none."""
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
    """The image's files, in an order in which they can be created; None: the data is in a pool."""
    printed: bytes = b""
    """Output that the program had printed before the power cut."""

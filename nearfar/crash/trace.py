"""Traces: the recorded events of one run, in the format of native/crash/trace.h."""

from __future__ import annotations

import mmap
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.base.units import PAGE_BYTES
from nearfar.program.symbols import SourceLocation

MAGIC = b"nfcrash2"
TRACE_VARIABLE = "NEARFAR_CRASH_TRACE"
SHADOW = ".shadow"
"""Suffix of the file next to a trace with the last recorded content of the pool."""
POOL_VARIABLE = "NEARFAR_CRASH_POOL"
CHOICES_VARIABLE = "NEARFAR_CRASH_CHOICES"
HEADER_BYTES = 4096
UNSEEN = {
    1: "a part of its code could not be decoded",
    2: "code that was made at run time stores to the pool",
    4: "it loaded code with flushes after it had mapped the pool",
}
"""Reasons why flushes may have been missed, by the bits NF_CRASH_UNSEEN_*."""

HEADER = struct.Struct("<8s5Q8IQ7I")
"""magic, limit, max_pool_bytes, max_steps, used, steps, owner, full, forked, others, outside,
threads, copied, unscheduled_waits, schedule, written, children, locked, thread_count, coarse,
unseen, unscheduled_threads."""
RECORD = struct.Struct("<HHIQQII")
"""kind, frames, bytes, a, b, thread, c."""


class EventKind(IntEnum):
    """enum nf_crash_kind."""

    MODULE = 1
    MAP = 2
    UNMAP = 3
    BASE = 4
    STORE = 5
    FLUSH = 6
    FENCE = 7
    BEGIN = 8
    END = 9
    SIZE = 10
    STREAM = 11
    TX_BEGIN = 12
    TX_COMMIT = 13
    TX_ABORT = 14
    TX_END = 15
    TX_SNAPSHOT = 16
    TX_ALLOC = 17
    TX_FREE = 18
    ALLOC = 19
    FREE = 20
    POOL_CREATE = 21
    POOL_OPEN = 22
    POOL_CLOSE = 23
    ROOT = 24
    RESERVE = 25
    OPERATION = 26
    OUTCOME = 27
    POINTER = 28
    WALK = 29
    TOUCH = 30
    SYNC = 31
    TURN = 32


def make_trace(
    path: Path, *, limit_bytes: int, max_pool_bytes: int, max_steps: int, schedule: int = 0
) -> None:
    """Make an empty trace, a sparse file."""
    header = HEADER.pack(
        *(MAGIC, limit_bytes, max_pool_bytes, max_steps, HEADER_BYTES, 0),
        *(0, 0, 0, 0, 0, 0, 0, 0),
        *(schedule, 0, 0, 0, 0, 0, 0, 0),
    )
    with path.open("wb") as file:
        file.write(header)
        file.truncate(limit_bytes)


_NOT_EVENTS = (EventKind.MODULE, EventKind.SIZE)


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One record; native/crash/trace.h explains `a`, `b`, `c` and the payload."""

    kind: EventKind
    a: int
    b: int
    stack: tuple[int, ...]
    """Return addresses, innermost first."""
    payload: bytes
    thread: int = 0
    """Number of the thread in the order of first events, from 0."""
    c: int = 0


@dataclass(frozen=True)
class LoadedModule:
    """A file that was loaded at [begin, end)."""

    begin: int
    end: int
    path: str


class TraceEvents:
    """Records of a trace in order, without modules and sizes; each iteration reads the file."""

    def __init__(self, data: mmap.mmap, used: int, count: int) -> None:
        self._data = data
        self._used = used
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[TraceEvent]:
        stacks: dict[bytes, tuple[int, ...]] = {}
        for at, kind, frames, size, a, b, thread, c in _heads(self._data, self._used):
            if kind in _NOT_EVENTS:
                continue
            begin = at + RECORD.size
            payload = begin + 8 * frames
            raw = self._data[begin:payload]
            if raw not in stacks:
                stacks[raw] = tuple(memoryview(raw).cast("Q"))
            content = self._data[payload : payload + size]
            yield TraceEvent(EventKind(kind), a, b, stacks[raw], content, thread, c)


@dataclass
class CrashTrace:
    """One run: its events and what the recorder counted."""

    events: Iterable[TraceEvent]
    """Events in order; `TraceEvents` does not keep them in memory."""
    modules: list[LoadedModule]
    pool_bytes: int
    """Largest size of the pool's file; 0: the program never mapped it."""
    full: bool
    coarse: bool
    """Whether there were more stores than are recorded one by one."""
    forks: int
    others: int
    outside: int
    several_threads: bool
    copied: int
    counts: Mapping[EventKind, int] = field(default_factory=dict)
    store_sites: int = 0
    """Number of instructions that stored into the pool."""
    fence_sites: int = 0
    stolen: int = 0
    written: int = 0
    children: int = 0
    unseen: int = 0
    """Sum of UNSEEN's keys."""
    unscheduled: int = 0
    """Threads that took no turns: their locks and waits are not recorded."""
    data: mmap.mmap | None = None

    @property
    def image_bytes(self) -> int:
        """Largest size of an explorer's image: the trace contains all its lines."""
        pages = self.counts.get(EventKind.BASE, 0) + self.counts.get(EventKind.STORE, 0)
        return min(self.pool_bytes, pages * PAGE_BYTES)

    def place(self, address: int) -> SourceLocation:
        """Return the file and offset of a return address."""
        for module in self.modules:
            if module.begin <= address < module.end:
                return SourceLocation(module.path, address - module.begin)
        return SourceLocation("", address)

    def stacks(self) -> set[tuple[int, ...]]:
        """Return the different stacks of all events."""
        return {event.stack for event in self.events}

    def stack_at(self, at: int) -> tuple[int, ...]:
        """Return the stack of the record that begins `at` bytes into the trace."""
        assert self.data is not None
        frames = RECORD.unpack_from(self.data, at)[1]
        return struct.unpack_from(f"<{frames}Q", self.data, at + RECORD.size)


def read_trace(path: Path) -> CrashTrace:
    """Read a trace; its mapping stays valid if the file is removed."""
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    head = HEADER.unpack_from(data, 0)
    (magic, _, _, _, used, _, _, full, forked, others, outside, threads, copied) = head[:13]
    stolen, _, written, children, _, _, coarse, unseen, unscheduled = head[13:]
    if magic != MAGIC:
        raise NearfarError(f"{path} is not a trace of nearfar crash")
    modules: dict[tuple[int, str], LoadedModule] = {}
    pool_bytes = 0
    counts: Counter[int] = Counter()
    store_sites: set[bytes] = set()
    fence_sites: set[bytes] = set()
    for at, kind, frames, size, a, b, _, _ in _heads(data, used):
        counts[kind] += 1
        begin = at + RECORD.size
        if kind == EventKind.STORE:
            store_sites.add(data[begin : begin + 8])
        elif kind == EventKind.FENCE:
            fence_sites.add(data[begin : begin + 8 * frames])
        elif kind == EventKind.MODULE:
            name = data[begin + 8 * frames : begin + 8 * frames + size].decode(errors="replace")
            modules[a, name] = LoadedModule(a, b, name)
        elif kind == EventKind.SIZE:
            pool_bytes = max(pool_bytes, a)
    events = sum(count for kind, count in counts.items() if kind not in _NOT_EVENTS)
    return CrashTrace(
        events=TraceEvents(data, used, events),
        modules=list(modules.values()),
        pool_bytes=pool_bytes,
        full=bool(full),
        coarse=bool(coarse),
        forks=forked,
        others=others,
        outside=outside,
        several_threads=bool(threads),
        copied=copied,
        counts=Counter({EventKind(kind): count for kind, count in counts.items()}),
        store_sites=len(store_sites),
        fence_sites=len(fence_sites),
        stolen=stolen,
        written=written,
        children=children,
        unseen=unseen,
        unscheduled=unscheduled,
        data=data,
    )


def used_bytes(path: Path) -> int:
    """Return the bytes of a trace's file up to the end of its records."""
    with path.open("rb") as file:
        return int(HEADER.unpack(file.read(HEADER.size))[4])


def _heads(data: mmap.mmap, used: int) -> Iterator[tuple[int, ...]]:
    """Yield the offset and fields of each record."""
    at = HEADER_BYTES
    step = RECORD.size
    unpack = RECORD.unpack_from
    while at + step <= used:
        kind, frames, size, a, b, thread, c = unpack(data, at)
        yield at, kind, frames, size, a, b, thread, c
        at += step + 8 * frames + (size + 7) // 8 * 8

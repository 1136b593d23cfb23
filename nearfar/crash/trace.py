"""Reads a trace."""

from __future__ import annotations

import mmap
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.crash.layout import HEADER, HEADER_BYTES, MAGIC, RECORD, Kind
from nearfar.program.symbols import SourceLocation

_NOT_EVENTS = (Kind.MODULE, Kind.SIZE)


@dataclass(frozen=True, slots=True)
class Event:
    """One record."""

    kind: Kind
    a: int
    b: int
    stack: tuple[int, ...]
    """Return addresses, innermost first."""
    payload: bytes
    thread: int = 0
    """0 is the first thread that had an event."""
    c: int = 0


@dataclass(frozen=True)
class Module:
    """A file that was loaded at [begin, end)."""

    begin: int
    end: int
    path: str


class Events:
    """The records of a trace in order, modules and sizes left out; read anew each time."""

    def __init__(self, data: mmap.mmap, used: int, count: int) -> None:
        self._data = data
        self._used = used
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Event]:
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
            yield Event(Kind(kind), a, b, stacks[raw], content, thread, c)


@dataclass
class Trace:
    """All of one run."""

    events: Iterable[Event]
    """In order; of a run, an `Events`, which holds none of them in memory."""
    modules: list[Module]
    pool_bytes: int
    """Largest size of the pool's file; 0: it was never mapped."""
    full: bool
    coarse: bool
    """More stores than are told one by one."""
    forks: int
    others: int
    outside: int
    several_threads: bool
    copied: int
    counts: Mapping[Kind, int] = field(default_factory=dict)
    store_sites: int = 0
    """Different instructions that stored into the pool."""
    fence_sites: int = 0
    stolen: int = 0
    written: int = 0
    children: int = 0
    data: mmap.mmap | None = None

    def place(self, address: int) -> SourceLocation:
        """Return where a return address is."""
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


def read_trace(path: Path) -> Trace:
    """Read what a program left; what is mapped of it stays if the file is removed."""
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    head = HEADER.unpack_from(data, 0)
    (magic, _, _, _, used, _, _, full, forked, others, outside, threads, copied) = head[:13]
    stolen, _, written, children, _, _, coarse = head[13:]
    if magic != MAGIC:
        raise NearfarError(f"{path} is not a trace of nearfar crash")
    modules: dict[tuple[int, str], Module] = {}
    pool_bytes = 0
    counts: Counter[int] = Counter()
    store_sites: set[bytes] = set()
    fence_sites: set[bytes] = set()
    for at, kind, frames, size, a, b, _, _ in _heads(data, used):
        counts[kind] += 1
        begin = at + RECORD.size
        if kind == Kind.STORE:
            store_sites.add(data[begin : begin + 8])
        elif kind == Kind.FENCE:
            fence_sites.add(data[begin : begin + 8 * frames])
        elif kind == Kind.MODULE:
            name = data[begin + 8 * frames : begin + 8 * frames + size].decode(errors="replace")
            modules[a, name] = Module(a, b, name)
        elif kind == Kind.SIZE:
            pool_bytes = max(pool_bytes, a)
    events = sum(count for kind, count in counts.items() if kind not in _NOT_EVENTS)
    return Trace(
        events=Events(data, used, events),
        modules=list(modules.values()),
        pool_bytes=pool_bytes,
        full=bool(full),
        coarse=bool(coarse),
        forks=forked,
        others=others,
        outside=outside,
        several_threads=bool(threads),
        copied=copied,
        counts=Counter({Kind(kind): count for kind, count in counts.items()}),
        store_sites=len(store_sites),
        fence_sites=len(fence_sites),
        stolen=stolen,
        written=written,
        children=children,
        data=data,
    )


def used_bytes(path: Path) -> int:
    """Return how much of a trace's file holds records."""
    with path.open("rb") as file:
        return int(HEADER.unpack(file.read(HEADER.size))[4])


def _heads(data: mmap.mmap, used: int) -> Iterator[tuple[int, ...]]:
    """Yield where each record begins and its fields."""
    at = HEADER_BYTES
    step = RECORD.size
    unpack = RECORD.unpack_from
    while at + step <= used:
        kind, frames, size, a, b, thread, c = unpack(data, at)
        yield at, kind, frames, size, a, b, thread, c
        at += step + 8 * frames + (size + 7) // 8 * 8

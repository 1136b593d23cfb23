"""Reads a trace."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.crash.layout import HEADER, HEADER_BYTES, MAGIC, RECORD, Kind
from nearfar.profile.symbols import Place


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


@dataclass
class Trace:
    """All of one run."""

    events: list[Event]
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

    def place(self, address: int) -> Place:
        """Return where a return address is."""
        for module in self.modules:
            if module.begin <= address < module.end:
                return Place(module.path, address - module.begin)
        return Place("", address)


def read_trace(path: Path) -> Trace:
    """Read what a program left."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        head = HEADER.unpack_from(data, 0)
        magic, _, _, most_steps, used, steps, _, full, forked, others, outside, threads, copied = (
            head[:13]
        )
        if magic != MAGIC:
            raise NearfarError(f"{path} is not a trace of nearfar crash")
        events: list[Event] = []
        modules: dict[tuple[int, str], Module] = {}
        pool_bytes = 0
        for event in _records(data, used):
            if event.kind is Kind.MODULE:
                name = event.payload.decode(errors="replace")
                modules[event.a, name] = Module(event.a, event.b, name)
            elif event.kind is Kind.SIZE:
                pool_bytes = max(pool_bytes, event.a)
            else:
                events.append(event)
    return Trace(
        events=events,
        modules=list(modules.values()),
        pool_bytes=pool_bytes,
        full=bool(full),
        coarse=steps >= most_steps,
        forks=forked,
        others=others,
        outside=outside,
        several_threads=bool(threads),
        copied=copied,
    )


def _records(data: mmap.mmap, used: int) -> Iterator[Event]:
    at = HEADER_BYTES
    stacks: dict[bytes, tuple[int, ...]] = {}
    while at + RECORD.size <= used:
        kind, frames, size, a, b, thread, c = RECORD.unpack_from(data, at)
        at += RECORD.size
        raw = data[at : at + 8 * frames]
        at += 8 * frames
        if raw not in stacks:
            stacks[raw] = tuple(memoryview(raw).cast("Q"))
        payload = data[at : at + size]
        at += (size + 7) // 8 * 8
        yield Event(Kind(kind), a, b, stacks[raw], payload, thread, c)

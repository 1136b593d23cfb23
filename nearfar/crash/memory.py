"""What is durable and what may or may not be, as a trace is walked.

native/crash/explore/memory.cpp is the same for the explorers; this is for whoever reads a trace
here (lints).
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from dataclasses import dataclass, field

from nearfar.base.units import LINE_BYTES, PAGE_BYTES
from nearfar.crash.layout import Kind
from nearfar.crash.trace import Event

_RUN_TIME_BYTES = 8192
"""libpmemobj keeps fields of the running process in the pool's first 8 KiB (pool header and
descriptor); it never flushes them and sets them anew when it opens the pool."""

_NO_RESERVE = 0x4000
"""Linux, mman.h: MAP_NORESERVE, which Python 3.11's mmap does not name."""


@dataclass(slots=True)
class Line:
    """A line with stores that are not durable yet."""

    contents: list[bytes] = field(default_factory=list)
    """After each of these stores, in program order."""
    stacks: list[tuple[int, ...]] = field(default_factory=list)
    flushed: int = 0
    """How many of them a flush has covered that is under way."""
    first: int = 0
    """Number of the first of them; numbers of one line only grow."""


State = Mapping[int, int]
"""Offset of a line to how many of its stores are in memory (at least 1)."""


class Memory:
    """The pool between power cuts. `feed` takes events in order.

    With caches that survive (`eadr`) a store is durable at once, and no line is ever in doubt.
    """

    def __init__(self, pool_bytes: int, *, eadr: bool = False) -> None:
        self._eadr = eadr
        whole = (pool_bytes + PAGE_BYTES - 1) // PAGE_BYTES * PAGE_BYTES
        # Not a bytearray: what is never touched of a large pool takes no room.
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
        self.durable = mmap.mmap(-1, max(whole, PAGE_BYTES), flags=flags)
        self.lines: dict[int, Line] = {}
        self.key = 0
        """Of the durable image: the sum of its lines that ever changed, order free."""
        self.done = -1
        self.begun = -1
        self._highest = 0
        self._flushed: dict[int, dict[int, int]] = {}
        """Of each thread: offset of a line to the number behind the last store it flushed."""

    def feed(self, event: Event) -> None:
        """Take one event."""
        if event.kind is Kind.STORE and self._eadr:
            self._set_line(event.a, event.payload)
        elif event.kind is Kind.STORE:
            line = self.lines.get(event.a)
            if line is None:
                # Above what a flush of a line that was here before may still name.
                line = self.lines[event.a] = Line(first=self._highest)
            line.contents.append(event.payload)
            line.stacks.append(event.stack)
        elif event.kind in (Kind.FLUSH, Kind.STREAM):
            self._flush(event.a, event.b, event.thread)
        elif event.kind is Kind.FENCE:
            self._fence(event.thread)
        elif event.kind is Kind.BASE:
            self._set_page(event.a, event.payload)
        elif event.kind is Kind.BEGIN:
            self.begun = event.a
        elif event.kind is Kind.END:
            self.done = event.a

    def candidates(self) -> dict[int, Line]:
        """Return the lines that may be in memory in more than one way."""
        if self.durable[:7] != b"PMEMOBJ":
            return dict(self.lines)
        return {
            offset: line
            for offset, line in self.lines.items()
            if offset >= _RUN_TIME_BYTES or line.flushed
        }

    def key_of(self, state: State) -> int:
        """Return a number that two states share only if their images are the same (64 bits)."""
        key = self.key
        for offset, stores in state.items():
            old = bytes(self.durable[offset : offset + LINE_BYTES])
            key ^= hash((offset, old)) ^ hash((offset, self.lines[offset].contents[stores - 1]))
        return key

    def content(self, state: State) -> dict[int, bytes]:
        """Return the lines of a state that are not the durable ones."""
        return {offset: self.lines[offset].contents[stores - 1] for offset, stores in state.items()}

    def _flush(self, begin: int, size: int, thread: int) -> None:
        first = begin // LINE_BYTES * LINE_BYTES
        end = begin + size
        if (end - first) // LINE_BYTES > len(self.lines):
            covered = [offset for offset in self.lines if first <= offset < end]
        else:
            covered = [o for o in range(first, end, LINE_BYTES) if o in self.lines]
        mine = self._flushed.setdefault(thread, {})
        for offset in covered:
            line = self.lines[offset]
            line.flushed = len(line.contents)
            mine[offset] = line.first + line.flushed
            self._highest = max(self._highest, mine[offset])

    def _fence(self, thread: int) -> None:
        """Have what this thread flushed be durable, whoever stored it."""
        for offset, behind in self._flushed.pop(thread, {}).items():
            line = self.lines.get(offset)
            if line is None or line.first >= behind:
                continue
            count = behind - line.first
            self._set_line(offset, line.contents[count - 1])
            del line.contents[:count]
            del line.stacks[:count]
            line.flushed = max(line.flushed - count, 0)
            line.first = behind
            if not line.contents:
                del self.lines[offset]

    def _set_page(self, begin: int, content: bytes) -> None:
        for at in range(0, len(content), LINE_BYTES):
            self.lines.pop(begin + at, None)
            self._set_line(begin + at, content[at : at + LINE_BYTES])

    def _set_line(self, offset: int, content: bytes) -> None:
        old = bytes(self.durable[offset : offset + LINE_BYTES])
        if old != content:
            self.key ^= hash((offset, old)) ^ hash((offset, content))
            self.durable[offset : offset + LINE_BYTES] = content

"""Durable and pending lines of the pool while a trace is walked.

Lints use this; native/crash/explore/memory.cpp is the same for the explorers.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field

from nearfar.base.units import LINE_BYTES, PAGE_BYTES
from nearfar.crash.trace import EventKind, TraceEvent

RUN_TIME_BYTES = 8192
"""Start of a pool, in which libpmemobj keeps fields of the running process (pool header and
descriptor). It never flushes them and sets them again when it opens the pool."""

_NO_RESERVE = 0x4000
"""Linux, mman.h: MAP_NORESERVE, which Python 3.11's mmap does not name."""


@dataclass(slots=True)
class PendingLine:
    """A line with stores that are not durable yet."""

    contents: list[bytes] = field(default_factory=list)
    """Content after each of these stores, in program order."""
    stacks: list[tuple[int, ...]] = field(default_factory=list)
    flushed: int = 0
    """Number of these stores that are flushed but not followed by a fence."""
    first: int = 0
    """Number of the first of these stores; the numbers of a line only increase."""


class PoolMemory:
    """The durable pool and its pending lines; `feed` takes events in order.

    With caches that survive (`eadr`) a store is durable at once, and no line is pending.
    """

    def __init__(self, pool_bytes: int, *, eadr: bool = False) -> None:
        self._eadr = eadr
        size = (pool_bytes + PAGE_BYTES - 1) // PAGE_BYTES * PAGE_BYTES
        # Not a bytearray: untouched pages of a mapping take no memory.
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
        self.durable = mmap.mmap(-1, max(size, PAGE_BYTES), flags=flags)
        self.lines: dict[int, PendingLine] = {}
        self.done = -1
        self.begun = -1
        self._highest = 0
        self._flushed: dict[int, dict[int, int]] = {}
        """Per thread and line offset, 1 + the number of the last store that it flushed."""

    def feed(self, event: TraceEvent) -> None:
        """Process one event."""
        if event.kind is EventKind.STORE and self._eadr:
            self._set_line(event.a, event.payload)
        elif event.kind is EventKind.STORE:
            line = self.lines.get(event.a)
            if line is None:
                # A flush of an earlier line at this offset must not cover the new stores: their
                # numbers are above all numbers that a flush names.
                line = self.lines[event.a] = PendingLine(first=self._highest)
            line.contents.append(event.payload)
            line.stacks.append(event.stack)
        elif event.kind in (EventKind.FLUSH, EventKind.STREAM):
            self._flush(event.a, event.b, event.thread)
        elif event.kind is EventKind.FENCE:
            self._fence(event.thread, event.a, event.b)
        elif event.kind is EventKind.BASE:
            self._set_page(event.a, event.payload)
        elif event.kind is EventKind.BEGIN:
            self.begun = event.a
        elif event.kind is EventKind.END:
            self.done = event.a

    def candidates(self) -> dict[int, PendingLine]:
        """Return the lines that may be in memory with more than one content."""
        if self.durable[:7] != b"PMEMOBJ":
            return dict(self.lines)
        return {
            offset: line
            for offset, line in self.lines.items()
            if offset >= RUN_TIME_BYTES or line.flushed
        }

    def _flush(self, begin: int, size: int, thread: int) -> None:
        first = begin // LINE_BYTES * LINE_BYTES
        end = begin + size
        if (end - first) // LINE_BYTES > len(self.lines):
            covered = [offset for offset in self.lines if first <= offset < end]
        else:
            covered = [o for o in range(first, end, LINE_BYTES) if o in self.lines]
        by_thread = self._flushed.setdefault(thread, {})
        for offset in covered:
            line = self.lines[offset]
            line.flushed = len(line.contents)
            by_thread[offset] = line.first + line.flushed
            self._highest = max(self._highest, by_thread[offset])

    def _fence(self, thread: int, begin: int, size: int) -> None:
        """Make durable what this thread flushed, whichever thread stored it.

        With a size, only lines of `size` bytes from `begin`.
        """
        flushed = self._flushed.get(thread, {})
        covered = [o for o in flushed if size == 0 or begin <= o < begin + size]
        for offset, end in [(offset, flushed.pop(offset)) for offset in covered]:
            line = self.lines.get(offset)
            if line is None or line.first >= end:
                continue
            count = end - line.first
            self._set_line(offset, line.contents[count - 1])
            del line.contents[:count]
            del line.stacks[:count]
            line.flushed = max(line.flushed - count, 0)
            line.first = end
            if not line.contents:
                del self.lines[offset]

    def _set_page(self, begin: int, content: bytes) -> None:
        for at in range(0, len(content), LINE_BYTES):
            self.lines.pop(begin + at, None)
            self._set_line(begin + at, content[at : at + LINE_BYTES])

    def _set_line(self, offset: int, content: bytes) -> None:
        if self.durable[offset : offset + LINE_BYTES] != content:
            self.durable[offset : offset + LINE_BYTES] = content

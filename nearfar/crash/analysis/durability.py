"""Lines that never became durable, and flushes that made nothing durable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nearfar.base.units import LINE_BYTES
from nearfar.crash.analysis.pool_state import PoolState
from nearfar.crash.memory import PoolMemory
from nearfar.crash.trace import EventKind, TraceEvent

_ALL_BYTES = (1 << LINE_BYTES) - 1


@dataclass(frozen=True)
class UndurableLine:
    """A line whose last store was not durable when the program ended."""

    offset: int
    """First byte that differs from the durable content."""
    stack: tuple[int, ...]
    is_flushed: bool


@dataclass(frozen=True)
class UselessFlush:
    """A flush of bytes without a store since their last flush."""

    offset: int
    stack: tuple[int, ...]
    was_stored: bool
    """Whether the program stored to the bytes before an earlier flush."""


def undurable_lines(memory: PoolMemory) -> Iterator[UndurableLine]:
    """Yield the lines that no flush or no fence covered when the trace ended."""
    for offset, line in memory.candidates().items():
        durable = memory.durable[offset : offset + LINE_BYTES]
        last = line.contents[-1]
        if last != durable:
            byte = next(i for i in range(LINE_BYTES) if last[i] != durable[i])
            flushed = line.flushed == len(line.contents)
            yield UndurableLine(offset + byte, line.stacks[-1], flushed)


@dataclass(frozen=True)
class UncoveredBytes:
    """Stored bytes that no flush named and that are durable because a flush named their line."""

    offset: int
    """The first of them."""
    size: int
    stack: tuple[int, ...]
    """Stack of the store."""


class NamedBytes:
    """Stored bytes that no flush has named yet, each with its last store.

    Stores in a transaction are left out: its end flushes what was snapshotted.
    """

    def __init__(self) -> None:
        self._in_transaction: set[int] = set()
        """Threads that are in a transaction."""
        self._stores: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
        """Per line: masks of bytes, with the stack that stored them."""

    def feed(self, event: TraceEvent, state: PoolState) -> None:
        """Process one event, which `state` already includes."""
        if event.kind is EventKind.STORE:
            mask = sum(_mask(c.begin - event.a, c.end - event.a) for c in state.changes)
            self._cover(event.a, mask)
            if mask and event.thread not in self._in_transaction:
                self._stores.setdefault(event.a, []).append((mask, event.stack))
        elif event.kind is EventKind.TX_BEGIN:
            self._in_transaction.add(event.thread)
        elif event.kind is EventKind.TX_END and event.a == 1:
            self._in_transaction.discard(event.thread)
        elif event.kind in (EventKind.FLUSH, EventKind.STREAM):
            self._flush(event, state)

    def uncovered(self, memory: PoolMemory) -> Iterator[UncoveredBytes]:
        """Yield the bytes that are durable only because of their line when the trace ended."""
        for line, stores in self._stores.items():
            if line in memory.lines:
                continue
            for mask, stack in stores:
                first = (mask & -mask).bit_length() - 1
                yield UncoveredBytes(line + first, mask.bit_count(), stack)

    def _flush(self, event: TraceEvent, state: PoolState) -> None:
        begin, end = event.a, event.a + event.b
        if event.b == 1:  # a bare instruction, which flushes a whole line
            begin -= begin % LINE_BYTES
            end = begin + LINE_BYTES
        if end - begin >= state.trace.pool_bytes:
            self._stores.clear()
            return
        for line in range(begin - begin % LINE_BYTES, end, LINE_BYTES):
            if line in self._stores:
                self._cover(line, _mask(max(begin - line, 0), min(end - line, LINE_BYTES)))

    def _cover(self, line: int, mask: int) -> None:
        left = [(kept & ~mask, stack) for kept, stack in self._stores.get(line, ())]
        self._stores[line] = [(kept, stack) for kept, stack in left if kept]
        if not self._stores[line]:
            self._stores.pop(line, None)


class FlushedBytes:
    """Bytes of the pool that were stored to since their last flush.

    A flush counts for the bytes it requests, not for whole lines: two objects that share a line by
    chance may each be flushed. A thread cannot know whether another thread has flushed the bytes
    that it reads, so its flush after another thread's is not useless.
    """

    def __init__(self) -> None:
        self._dirty: dict[int, int] = {}
        self._stored: dict[int, int] = {}
        self._flusher: dict[int, int] = {}
        """The last thread that flushed a line."""

    def feed(self, event: TraceEvent, state: PoolState) -> Iterator[UselessFlush]:
        """Process one event, which `state` already includes."""
        if event.kind is EventKind.STORE:
            mask = sum(_mask(c.begin - event.a, c.end - event.a) for c in state.changes)
            self._mark(event.a, mask)
        elif event.kind is EventKind.TOUCH:
            # Bytes that kept their value are not recorded: the store may reach to the line's end.
            begin = event.a % LINE_BYTES
            self._mark(event.a - begin, _mask(begin, LINE_BYTES))
        elif event.kind is EventKind.FLUSH and event.b < state.trace.pool_bytes:
            yield from self._flush(event, state)

    def _mark(self, line: int, mask: int) -> None:
        self._dirty[line] = self._dirty.get(line, 0) | mask
        self._stored[line] = self._stored.get(line, 0) | mask

    def _flush(self, event: TraceEvent, state: PoolState) -> Iterator[UselessFlush]:
        begin, end = event.a, event.a + event.b
        if event.b == 1:  # a bare instruction, which flushes a whole line
            begin -= begin % LINE_BYTES
            end = begin + LINE_BYTES
        useful = stored = by_other_thread = False
        for line in range(begin - begin % LINE_BYTES, end, LINE_BYTES):
            mask = _mask(max(begin - line, 0), min(end - line, LINE_BYTES))
            useful |= bool(self._dirty.get(line, 0) & mask)
            stored |= bool(self._stored.get(line, 0) & mask)
            by_other_thread |= self._flusher.get(line, event.thread) != event.thread
            self._flusher[line] = event.thread
            if line in self._dirty:
                self._dirty[line] &= ~mask
        # A store of zeros onto zeros may not have been recorded.
        if not (useful or by_other_thread or (not stored and state.is_zero(begin, end - begin))):
            yield UselessFlush(event.a, event.stack, stored)


def _mask(begin: int, end: int) -> int:
    return ((1 << (end - begin)) - 1) << begin & _ALL_BYTES

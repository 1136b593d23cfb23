"""Stores that nothing made durable, and flushes for nothing."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.base.units import LINE_BYTES
from nearfar.crash.layout import Kind
from nearfar.crash.lints.finding import Finding
from nearfar.crash.lints.world import World
from nearfar.crash.memory import Memory
from nearfar.crash.trace import Event

_ALL = (1 << LINE_BYTES) - 1


class NeverDurable:
    """What no flush or no fence covered until the program ended."""

    def __init__(self, world: World) -> None:
        self.memory = Memory(world.trace.pool_bytes)

    def feed(self, event: Event, world: World) -> Iterator[Finding]:
        """Take one event."""
        self.memory.feed(event)
        yield from ()

    def finish(self, world: World) -> Iterator[Finding]:
        """Tell what is still in doubt."""
        for offset, line in self.memory.candidates().items():
            if line.contents[-1] == self.memory.durable[offset : offset + LINE_BYTES]:
                continue
            flushed = line.flushed == len(line.contents)
            byte = _first_difference(
                line.contents[-1], self.memory.durable[offset : offset + LINE_BYTES]
            )
            yield Finding(
                "never fenced" if flushed else "never flushed",
                offset + byte,
                line.stacks[-1],
                object=world.objects.describe(offset + byte),
            )


class Needless:
    """Flushes of bytes that nothing stored to since they were last flushed.

    Of the bytes that were asked for, not of their lines: two neighbours in a line that are flushed
    one after the other are where chance put them. A thread cannot know that another has flushed
    what it reads, so it does that again for good reason.
    """

    def __init__(self, world: World) -> None:
        self._dirty: dict[int, int] = {}
        self._stored: dict[int, int] = {}
        self._flusher: dict[int, int] = {}
        """Thread that flushed a line last."""

    def feed(self, event: Event, world: World) -> Iterator[Finding]:
        """Take one event."""
        if event.kind is Kind.STORE:
            mask = sum(_mask(c.begin - event.a, c.end - event.a) for c in world.changes)
            self._mark(event.a, mask)
        elif event.kind is Kind.TOUCH:
            # As wide as a store may be: what it did not change cannot be told.
            begin = event.a % LINE_BYTES
            self._mark(event.a - begin, _mask(begin, LINE_BYTES))
        elif event.kind is Kind.FLUSH and event.b < world.trace.pool_bytes:
            yield from self._flush(event, world)

    def finish(self, world: World) -> Iterator[Finding]:
        """Have nothing to add."""
        yield from ()

    def _mark(self, line: int, mask: int) -> None:
        self._dirty[line] = self._dirty.get(line, 0) | mask
        self._stored[line] = self._stored.get(line, 0) | mask

    def _flush(self, event: Event, world: World) -> Iterator[Finding]:
        begin, end = event.a, event.a + event.b
        if event.b == 1:  # an instruction, which is of a line
            begin -= begin % LINE_BYTES
            end = begin + LINE_BYTES
        useful = stored = others = False
        for line in range(begin - begin % LINE_BYTES, end, LINE_BYTES):
            mask = _mask(max(begin - line, 0), min(end - line, LINE_BYTES))
            useful |= bool(self._dirty.get(line, 0) & mask)
            stored |= bool(self._stored.get(line, 0) & mask)
            others |= self._flusher.get(line, event.thread) != event.thread
            self._flusher[line] = event.thread
            if line in self._dirty:
                self._dirty[line] &= ~mask
        if useful or others or (not stored and world.is_zero(begin, end - begin)):
            return  # zeros onto zeros may have been stored unseen
        yield Finding(
            "flushed twice" if stored else "flushed unmodified",
            event.a,
            event.stack,
            object=world.objects.describe(event.a),
        )


def _mask(begin: int, end: int) -> int:
    return ((1 << (end - begin)) - 1) << begin & _ALL


def _first_difference(one: bytes, other: bytes | bytearray) -> int:
    return next(i for i in range(LINE_BYTES) if one[i] != other[i])

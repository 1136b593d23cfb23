"""Content of the pool and its objects after the events walked so far."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nearfar.base.units import LINE_BYTES, PAGE_BYTES
from nearfar.crash.analysis.allocations import ALLOCATIONS, FREES, LiveObjects, PoolAllocation
from nearfar.crash.analysis.pool_images import PoolObject
from nearfar.crash.trace import CrashTrace, EventKind, TraceEvent

WORD_BYTES = 8
MIN_HANDLE = 4096
"""Smallest word that may be a handle: no object is in a pool's first page."""
_UUID_OFFSET = 24
"""struct pool_hdr of libpmemobj: signature 8, major 4, features 12 bytes, then the pool's id, whose
first 8 bytes are in every PMEMoid."""
_ZEROS = bytes(LINE_BYTES)


@dataclass(frozen=True)
class ByteRange:
    """Bytes that a store changed."""

    begin: int
    end: int


class PoolState:
    """State of a trace's pool after the events given to `feed`, with stores not yet durable."""

    def __init__(self, trace: CrashTrace) -> None:
        self.trace = trace
        self.objects = LiveObjects()
        self.root: PoolAllocation | None = None
        self.uuid = 0
        """ID of the pool; 0: it is not a pool of libpmemobj."""
        self.changes: list[ByteRange] = []
        """Bytes that the last store changed."""
        self.words: list[tuple[int, int, int]] = []
        """The words that the last store changed: offset, value before, value after."""
        self.sizes_before: dict[int, set[int]] = {}
        """Sizes in bytes of the objects before the run, by type number."""
        self.led_to: set[int] = set()
        """Live objects to which a word of another object has pointed at some time."""
        self._values: set[int] = set()
        """Words stored into objects; they may be handles of later allocations."""
        self._lines: dict[int, bytes] = {}

    def feed(self, event: TraceEvent) -> None:
        """Process one event."""
        if event.kind is EventKind.STORE:
            self._store(event)
        elif event.kind is EventKind.BASE:
            for at in range(0, PAGE_BYTES, LINE_BYTES):
                self._lines[event.a + at] = event.payload[at : at + LINE_BYTES]
        else:
            self.objects.feed(event)
            self._note_handles(event)
            if event.kind is EventKind.ROOT:
                self.root = self.objects.beginning_at(event.a) or self.root
        if self.uuid == 0 and event.kind in (EventKind.STORE, EventKind.BASE) and event.a == 0:
            head = self.line(0)
            if head.startswith(b"PMEMOBJ"):
                self.uuid = int.from_bytes(head[_UUID_OFFSET:][:WORD_BYTES], "little")

    def add_existing(self, objects: Iterable[PoolObject]) -> None:
        """Add the objects that existed before the run."""
        for existing in objects:
            is_root = existing.type_number < 0
            number = 0 if is_root else existing.type_number
            self.objects.add(
                PoolAllocation(existing.offset, existing.size, number, (), is_root=is_root)
            )
            if not is_root:
                self.sizes_before.setdefault(number, set()).add(existing.size)

    def line(self, offset: int) -> bytes:
        """Return the content of a line."""
        return self._lines.get(offset, _ZEROS)

    def content(self, begin: int, size: int) -> bytes:
        """Return the content of a range."""
        first = begin // LINE_BYTES * LINE_BYTES
        lines = b"".join(self.line(at) for at in range(first, begin + size, LINE_BYTES))
        return lines[begin - first : begin - first + size]

    def word(self, offset: int) -> int:
        """Return the word of 8 bytes at an offset that is a multiple of 8."""
        return int.from_bytes(self.content(offset, WORD_BYTES), "little")

    def is_zero(self, begin: int, size: int) -> bool:
        """Return whether all bytes of the lines that a range touches are zero.

        A range that is zero in a line that is not was not stored to, and its flush is useless.
        """
        first = begin // LINE_BYTES * LINE_BYTES
        return all(not any(self.line(at)) for at in range(first, begin + size, LINE_BYTES))

    def _store(self, event: TraceEvent) -> None:
        old, new = self.line(event.a), event.payload
        self.changes = []
        self.words = []
        for at in range(0, LINE_BYTES, WORD_BYTES):
            before, after = old[at : at + WORD_BYTES], new[at : at + WORD_BYTES]
            if before == after:
                continue
            values = int.from_bytes(before, "little"), int.from_bytes(after, "little")
            self.words.append((event.a + at, *values))
            self._note_word(event.a + at, values[1])
            self._note_change(event.a + at, before, after)
        self._lines[event.a] = new

    def _note_word(self, offset: int, value: int) -> None:
        if not MIN_HANDLE <= value < self.trace.pool_bytes or self.objects.at(offset) is None:
            return  # part of the heap or of a log of libpmemobj
        self._values.add(value)
        target = self.objects.at(value)
        if target is not None:
            self.led_to.add(target.begin)

    def _note_handles(self, event: TraceEvent) -> None:
        # An allocation may store its handle itself, before its event is recorded.
        if event.kind in ALLOCATIONS and event.a in self._values:
            self.led_to.add(event.a)
        elif event.kind in FREES:
            self._values.discard(event.a)
            self.led_to.discard(event.a)

    def _note_change(self, offset: int, before: bytes, after: bytes) -> None:
        for i in range(WORD_BYTES):
            if before[i] == after[i]:
                continue
            last = self.changes[-1] if self.changes else None
            if last is not None and last.end == offset + i:
                self.changes[-1] = ByteRange(last.begin, offset + i + 1)
            else:
                self.changes.append(ByteRange(offset + i, offset + i + 1))

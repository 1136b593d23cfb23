"""The run as far as it was walked: what the pool's bytes are, which objects live."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nearfar.base.units import LINE_BYTES, PAGE_BYTES
from nearfar.crash.layout import Kind
from nearfar.crash.lints.images import PoolObject
from nearfar.crash.lints.objects import ALLOCATIONS, FREES, Allocation, Objects
from nearfar.crash.trace import Event, Trace

_WORD_BYTES = 8
_UUID_AT = 24
"""struct pool_hdr of libpmemobj: signature 8, major 4, features 12 bytes, then the pool's id, whose
first 8 bytes stand in every PMEMoid."""
_LEAST_HANDLE = 4096
"""A smaller word is a number; no object lies in a pool's first page."""
_ZEROS = bytes(LINE_BYTES)


@dataclass(frozen=True)
class Change:
    """Bytes that a store changed."""

    begin: int
    end: int


class World:
    """Of one trace; `feed` takes its events in order."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.objects = Objects()
        self.root: Allocation | None = None
        self.uuid = 0
        """Of the pool, or 0 if it is none of libpmemobj."""
        self.changes: list[Change] = []
        """Of the store that was fed last."""
        self.words: list[tuple[int, int, int]] = []
        """Offset, value before and after, of the words it changed."""
        self.sizes_before: dict[int, set[int]] = {}
        """Type number to the bytes that its objects had room for before the run."""
        self.led_to: set[int] = set()
        """Objects that live and that a word of another pointed to at some time."""
        self._values: set[int] = set()
        """Words that were stored into objects, and may be handles of what is not allocated yet."""
        self._lines: dict[int, bytes] = {}

    def feed(self, event: Event) -> None:
        """Take one event."""
        if event.kind is Kind.STORE:
            self._store(event)
        elif event.kind is Kind.BASE:
            for at in range(0, PAGE_BYTES, LINE_BYTES):
                self._lines[event.a + at] = event.payload[at : at + LINE_BYTES]
        else:
            self.objects.feed(event)
            self._note_handles(event)
            if event.kind is Kind.ROOT:
                self.root = self.objects.that_begins(event.a) or self.root
        if self.uuid == 0 and event.kind in (Kind.STORE, Kind.BASE) and event.a == 0:
            head = self.line(0)
            if head.startswith(b"PMEMOBJ"):
                self.uuid = int.from_bytes(head[_UUID_AT : _UUID_AT + _WORD_BYTES], "little")

    def held(self, objects: Iterable[PoolObject]) -> None:
        """Take the objects that were there before the run."""
        for one in objects:
            is_root = one.type_number < 0
            number = 0 if is_root else one.type_number
            self.objects.add(Allocation(one.offset, one.size, number, (), is_root=is_root))
            if not is_root:
                self.sizes_before.setdefault(number, set()).add(one.size)

    def line(self, offset: int) -> bytes:
        """Return what a line holds."""
        return self._lines.get(offset, _ZEROS)

    def content(self, begin: int, size: int) -> bytes:
        """Return what a range holds."""
        first = begin // LINE_BYTES * LINE_BYTES
        lines = b"".join(self.line(at) for at in range(first, begin + size, LINE_BYTES))
        return lines[begin - first : begin - first + size]

    def word(self, offset: int) -> int:
        """Return the word of 8 bytes at an offset that is a multiple of 8."""
        return int.from_bytes(self.content(offset, _WORD_BYTES), "little")

    def is_zero(self, begin: int, size: int) -> bool:
        """Return whether the lines of a range hold zeros only, what lies beside it included.

        A flush of a field that is still zero, in a line that was stored to, is one too many.
        """
        first = begin // LINE_BYTES * LINE_BYTES
        return all(not any(self.line(at)) for at in range(first, begin + size, LINE_BYTES))

    def _store(self, event: Event) -> None:
        old, new = self.line(event.a), event.payload
        self.changes = []
        self.words = []
        for at in range(0, LINE_BYTES, _WORD_BYTES):
            before, after = old[at : at + _WORD_BYTES], new[at : at + _WORD_BYTES]
            if before == after:
                continue
            values = int.from_bytes(before, "little"), int.from_bytes(after, "little")
            self.words.append((event.a + at, *values))
            self._note_word(event.a + at, values[1])
            self._differ(event.a + at, before, after)
        self._lines[event.a] = new

    def _note_word(self, offset: int, value: int) -> None:
        if not _LEAST_HANDLE <= value < self.trace.pool_bytes or self.objects.at(offset) is None:
            return  # of the heap or a log of libpmemobj
        self._values.add(value)
        to = self.objects.at(value)
        if to is not None:
            self.led_to.add(to.begin)

    def _note_handles(self, event: Event) -> None:
        """A handle may be stored by the allocation itself, which is told when it is over."""
        if event.kind in ALLOCATIONS and event.a in self._values:
            self.led_to.add(event.a)
        elif event.kind in FREES:
            self._values.discard(event.a)
            self.led_to.discard(event.a)

    def _differ(self, offset: int, before: bytes, after: bytes) -> None:
        for i in range(_WORD_BYTES):
            if before[i] == after[i]:
                continue
            last = self.changes[-1] if self.changes else None
            if last is not None and last.end == offset + i:
                self.changes[-1] = Change(last.begin, offset + i + 1)
            else:
                self.changes.append(Change(offset + i, offset + i + 1))

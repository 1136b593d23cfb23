"""Which object of libpmemobj a byte of the pool belongs to, as the run allocates and frees."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass

from nearfar.crash.layout import Kind
from nearfar.crash.trace import Event
from nearfar.documents.crash_report import CrashObject

ALLOCATIONS = frozenset({Kind.ALLOC, Kind.TX_ALLOC, Kind.RESERVE})
FREES = frozenset({Kind.FREE, Kind.TX_FREE})


@dataclass(frozen=True)
class Allocation:
    """One object, while it lives."""

    begin: int
    size: int
    type_number: int
    stack: tuple[int, ...]
    """Of who allocated it; empty: it was there before."""
    is_root: bool = False

    @property
    def end(self) -> int:
        """Return the offset behind it."""
        return self.begin + self.size


class Objects:
    """All that live."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._by_begin: dict[int, Allocation] = {}

    def feed(self, event: Event) -> None:
        """Take an event."""
        if event.kind in ALLOCATIONS:
            type_number = int.from_bytes(event.payload[:8], "little")
            self.add(Allocation(event.a, event.b, type_number, event.stack))
        elif event.kind is Kind.ROOT and event.b:
            self.add(Allocation(event.a, event.b, 0, event.stack, is_root=True))
        elif event.kind in FREES:
            self.remove(event.a)

    def add(self, one: Allocation) -> None:
        """Have an object; what the heap gives out again is the new one's."""
        if one.begin not in self._by_begin:
            bisect.insort(self._begins, one.begin)
        self._by_begin[one.begin] = one

    def remove(self, begin: int) -> None:
        """Forget an object."""
        if self._by_begin.pop(begin, None) is not None:
            del self._begins[bisect.bisect_left(self._begins, begin)]

    def at(self, offset: int) -> Allocation | None:
        """Return the object that holds a byte."""
        index = bisect.bisect_right(self._begins, offset) - 1
        if index < 0:
            return None
        one = self._by_begin[self._begins[index]]
        return one if offset < one.end else None

    def that_begins(self, offset: int) -> Allocation | None:
        """Return the object that begins there."""
        return self._by_begin.get(offset)

    def count(self) -> int:
        """Return how many live."""
        return len(self._begins)

    def living(self) -> Iterable[Allocation]:
        """Return all of them."""
        return self._by_begin.values()

    def describe(self, offset: int) -> CrashObject | None:
        """Return what a report says of the byte's object; its stack is named later."""
        one = self.at(offset)
        if one is None:
            return None
        return CrashObject(
            what="root" if one.is_root else "allocation",
            offset=one.begin,
            size=one.size,
            type_number=one.type_number,
            byte=offset - one.begin,
        )

"""Live objects of libpmemobj, as the run allocates and frees them."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass

from nearfar.crash.trace import EventKind, TraceEvent
from nearfar.documents.crash_report import CrashObject

ALLOCATIONS = frozenset({EventKind.ALLOC, EventKind.TX_ALLOC, EventKind.RESERVE})
FREES = frozenset({EventKind.FREE, EventKind.TX_FREE})


@dataclass(frozen=True)
class PoolAllocation:
    """One live object."""

    begin: int
    size: int
    type_number: int
    stack: tuple[int, ...]
    """Stack that allocated it; empty: it existed before the run."""
    is_root: bool = False

    @property
    def end(self) -> int:
        """Return the offset behind it."""
        return self.begin + self.size


class LiveObjects:
    """All live objects, by offset."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._by_begin: dict[int, PoolAllocation] = {}

    def feed(self, event: TraceEvent) -> None:
        """Process an event."""
        if event.kind in ALLOCATIONS:
            type_number = int.from_bytes(event.payload[:8], "little")
            self.add(PoolAllocation(event.a, event.b, type_number, event.stack))
        elif event.kind is EventKind.ROOT and event.b:
            self.add(PoolAllocation(event.a, event.b, 0, event.stack, is_root=True))
        elif event.kind in FREES:
            self.remove(event.a)

    def add(self, allocation: PoolAllocation) -> None:
        """Add an object; it replaces one at the same offset."""
        if allocation.begin not in self._by_begin:
            bisect.insort(self._begins, allocation.begin)
        self._by_begin[allocation.begin] = allocation

    def remove(self, begin: int) -> None:
        """Remove the object that begins at an offset."""
        if self._by_begin.pop(begin, None) is not None:
            del self._begins[bisect.bisect_left(self._begins, begin)]

    def at(self, offset: int) -> PoolAllocation | None:
        """Return the object that contains a byte."""
        index = bisect.bisect_right(self._begins, offset) - 1
        if index < 0:
            return None
        allocation = self._by_begin[self._begins[index]]
        return allocation if offset < allocation.end else None

    def begin_at(self, offset: int) -> int:
        """Return the offset of the object that contains a byte, or -1."""
        allocation = self.at(offset)
        return -1 if allocation is None else allocation.begin

    def beginning_at(self, offset: int) -> PoolAllocation | None:
        """Return the object that begins at an offset."""
        return self._by_begin.get(offset)

    def __len__(self) -> int:
        return len(self._begins)

    def __iter__(self) -> Iterator[PoolAllocation]:
        return iter(self._by_begin.values())

    def describe(self, offset: int) -> CrashObject | None:
        """Return the object that contains a byte, as a report describes it."""
        allocation = self.at(offset)
        if allocation is None:
            return None
        return CrashObject(
            what="root" if allocation.is_root else "allocation",
            offset=allocation.begin,
            size=allocation.size,
            type_number=allocation.type_number,
            byte=offset - allocation.begin,
        )

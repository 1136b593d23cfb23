"""Stores of two threads that nothing orders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.units import LINE_BYTES
from nearfar.crash.lints._registry import Lint, LintContext, LintFinding, register
from nearfar.crash.trace import EventKind, TraceEvent

_ACQUIRE = 1
_MAX_STORES_PER_LINE = 16
_UNSEEN_LOCKS = ("libgomp", "libomp", "libiomp", "libtbb")
"""Libraries whose locks and waits are not recorded."""
_ALLOCATIONS = {EventKind.TX_ALLOC, EventKind.ALLOC, EventKind.RESERVE}
_MAX_LINES_FORGOTTEN = 1 << 14

Clock = dict[int, int]
"""Number of known releases by thread."""


@dataclass(frozen=True, slots=True)
class _Store:
    thread: int
    epoch: int
    begin: int
    end: int


@register
class UnlockedUpdate(Lint):
    """Two threads store to the same bytes, and no lock, wait or join orders their stores.

    Locks, conditions, semaphores, barriers, begins and ends of threads order stores, as do locked
    instructions on the same line. Nothing is reported if threads waited in a way that is not
    recorded, if threads took no turns (more than 255, or not started by pthread_create or
    thrd_create), if several processes had the pool, or of a program with OpenMP or TBB.
    """

    kind = "unlocked update"
    pitfall = "tally_unlocked"
    explains = 6

    def __init__(self, context: LintContext) -> None:
        super().__init__(context)
        trace = context.trace
        names = [Path(module.path).name for module in trace.modules]
        unseen = any(name.startswith(_UNSEEN_LOCKS) for name in names)
        unseen = unseen or bool(trace.unscheduled)
        self._judges = not (unseen or trace.stolen or trace.children or trace.others)
        self._clocks: dict[int, Clock] = {}
        self._released: dict[tuple[str, int], Clock] = {}
        self._stores: dict[int, list[_Store]] = {}

    def feed(self, event: TraceEvent) -> Iterator[LintFinding]:
        """Order stores by vector clocks, from the first thread's begin on."""
        if not self._judges:
            return
        if event.kind is EventKind.SYNC:
            if event.c == _ACQUIRE:
                self._acquire(event.thread, ("object", event.a))
            else:
                self._release(event.thread, ("object", event.a))
        elif event.kind in _ALLOCATIONS:
            self._forget(event.a, event.b)
        elif event.kind is EventKind.STORE and self._clocks:
            yield from self._store(event)

    def _clock(self, thread: int) -> Clock:
        return self._clocks.setdefault(thread, {thread: 1})

    def _acquire(self, thread: int, key: tuple[str, int]) -> None:
        clock = self._clock(thread)
        for other, epoch in self._released.get(key, {}).items():
            clock[other] = max(clock.get(other, 0), epoch)

    def _release(self, thread: int, key: tuple[str, int]) -> None:
        clock = self._clock(thread)
        released = self._released.setdefault(key, {})
        for other, epoch in clock.items():
            released[other] = max(released.get(other, 0), epoch)
        clock[thread] += 1

    def _store(self, event: TraceEvent) -> Iterator[LintFinding]:
        """Compare a store with earlier stores to its line that no release and acquire orders."""
        clock = self._clock(event.thread)
        line = ("line", event.a)
        if event.c or line in self._released:
            # A store to an atomic word, or to its line, orders the threads.
            self._acquire(event.thread, line)
            self._release(event.thread, line)
            return
        earlier = self._stores.get(event.a, [])
        for change in self.context.state.changes:
            new = _Store(event.thread, clock[event.thread], change.begin, change.end)
            for store in earlier:
                disjoint = store.end <= new.begin or new.end <= store.begin
                if disjoint or store.thread == event.thread:
                    continue
                if store.epoch > clock.get(store.thread, 0):
                    note = f"threads {store.thread} and {event.thread} store there"
                    yield self.finding(new.begin, event.stack, note)
                    break
            earlier = [
                store
                for store in earlier
                if store.thread != event.thread or store.begin < new.begin or store.end > new.end
            ]
            earlier.append(new)
        self._stores[event.a] = earlier[-_MAX_STORES_PER_LINE:]

    def _forget(self, begin: int, size: int) -> None:
        """Forget stores to memory that was allocated again."""
        first, last = begin // LINE_BYTES, (begin + size) // LINE_BYTES + 1
        for number in range(first, min(last, first + _MAX_LINES_FORGOTTEN)):
            self._stores.pop(number * LINE_BYTES, None)

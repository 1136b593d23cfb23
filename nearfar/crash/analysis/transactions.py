"""Transactions of libpmemobj: stores without a snapshot, snapshots that no store needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from nearfar.crash.analysis.allocations import ALLOCATIONS, PoolAllocation
from nearfar.crash.analysis.origins import StackOrigins
from nearfar.crash.analysis.pool_state import MIN_HANDLE, WORD_BYTES, ByteRange, PoolState
from nearfar.crash.trace import EventKind, TraceEvent
from nearfar.documents.crash_report import CrashObject

_NO_SNAPSHOT = 1 << 2
"""POBJ_XADD_NO_SNAPSHOT, libpmemobj/base.h: flushed at commit, not undone."""


@dataclass
class UndoRange:
    """A range that a transaction snapshotted."""

    begin: int
    end: int
    stack: tuple[int, ...]
    undoes: bool
    used: bool = False


@dataclass
class OpenTransaction:
    """A thread's transaction; nested ones count as one."""

    is_foreign: bool
    """Whether it belongs to a pool other than the explored one."""
    snapshots: list[UndoRange] = field(default_factory=list)
    fresh: list[tuple[int, int]] = field(default_factory=list)
    """Ranges of objects that it allocated: an abort frees them."""
    bare: list[BareStore] = field(default_factory=list)
    covered: list[tuple[tuple[int, ...], int]] = field(default_factory=list)
    """Stacks and objects of stores that were covered by a snapshot."""
    overwritten: dict[int, set[int]] = field(default_factory=dict)
    """Objects that contained a value before a store removed it, by value."""
    stored: dict[int, set[int]] = field(default_factory=dict)
    """Objects into which stores wrote a value, by value."""
    handles: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    """Last offset and stack of each value that stores wrote."""
    freed: list[int] = field(default_factory=list)
    is_committing: bool = False


@dataclass(frozen=True)
class BareStore:
    """A store in a transaction to bytes that it neither snapshotted nor allocated."""

    offset: int
    stack: tuple[int, ...]
    owner: PoolAllocation | None
    words: tuple[tuple[int, int, int], ...]
    """Offset, value before and after, of the word at `offset`."""
    transaction: OpenTransaction

    @property
    def owner_begin(self) -> int:
        """Return the offset of the object stored to, or -1."""
        return -1 if self.owner is None else self.owner.begin

    def snapshots_near(self) -> list[UndoRange]:
        """Return the transaction's snapshots of the same object."""
        owner = self.owner
        if owner is None:
            return []
        return [s for s in self.transaction.snapshots if owner.begin <= s.begin < owner.end]

    def reach(self) -> str:
        """Describe which bytes of the object the transaction snapshotted."""
        begin = self.owner_begin
        near = self.snapshots_near()[:3]
        ends = ", ".join(f"{s.begin - begin}-{s.end - begin - 1}" for s in near)
        return f"the transaction has bytes {ends} of this object" if near else ""


@dataclass(frozen=True)
class VolatileSnapshot:
    """A snapshot of memory outside the pool."""

    address: int
    size: int
    stack: tuple[int, ...]


@dataclass(frozen=True)
class FreedHandle:
    """A handle in the pool of an object that the same transaction freed."""

    offset: int
    stack: tuple[int, ...]
    target: int


@dataclass(frozen=True)
class UnusedSnapshot:
    """The first snapshot of a place in the program whose snapshots no store needed."""

    offset: int
    size: int
    stack: tuple[int, ...]
    object: CrashObject | None


TransactionFact = BareStore | VolatileSnapshot | FreedHandle | UnusedSnapshot


class Transactions:
    """Open transactions of every thread."""

    def __init__(self, state: PoolState, origins: StackOrigins) -> None:
        self._state = state
        self._origins = origins
        self._open: dict[int, OpenTransaction] = {}
        self._unused: dict[tuple[int, ...], UnusedSnapshot] = {}
        self._used: set[tuple[int, ...]] = set()

    def feed(self, event: TraceEvent) -> Iterator[TransactionFact]:
        """Process one event, which the pool's state already includes."""
        if event.kind is EventKind.TX_BEGIN:
            if event.a <= 1 or event.thread not in self._open:
                self._open[event.thread] = OpenTransaction(is_foreign=bool(event.c))
            return
        current = self._open.get(event.thread)
        if current is None:
            return
        if event.kind is EventKind.TX_SNAPSHOT:
            yield from _snapshot(event, current)
        elif event.kind in ALLOCATIONS:
            current.fresh.append((event.a, event.a + event.b))
        elif event.kind is EventKind.TX_FREE:
            current.freed.append(event.a)
        elif event.kind is EventKind.STORE and not current.is_committing:
            self._store(event, current)
        elif event.kind is EventKind.TOUCH:
            self._touch(event, current)
        elif event.kind is EventKind.TX_ABORT or (
            event.kind is EventKind.TX_COMMIT and event.a <= 1
        ):
            current.is_committing = True  # the stores that follow are libpmemobj's
        elif event.kind is EventKind.TX_END and event.a <= 1:
            yield from self._end(current, undone=event.c != 0)
            del self._open[event.thread]

    def finish(self) -> Iterator[TransactionFact]:
        """Yield the facts of transactions that did not end, and the unused snapshots."""
        for current in self._open.values():
            yield from self._end(current, undone=True)
        if not self._state.trace.coarse:
            for stack, snapshot in self._unused.items():
                if stack not in self._used:
                    yield snapshot

    def _touch(self, event: TraceEvent, current: OpenTransaction) -> None:
        """Process a store that changed nothing, of which only the first byte is known."""
        for snapshot in current.snapshots:
            if snapshot.begin <= event.a < snapshot.end:
                snapshot.used = True
                current.covered.append((event.stack, self._state.objects.begin_at(event.a)))

    def _store(self, event: TraceEvent, current: OpenTransaction) -> None:
        """Compare a store of the program with the transaction's snapshots, and note its handles."""
        if not self._origins.from_program(event.stack):
            return
        state = self._state
        for change in state.changes:
            owner = state.objects.at(change.begin)
            begin = -1 if owner is None else owner.begin
            if (end := _covered_to(current, change)) >= change.end:
                current.covered.append((event.stack, begin))
                continue
            words = tuple(word for word in state.words if word[0] <= end < word[0] + WORD_BYTES)
            current.bare.append(BareStore(end, event.stack, owner, words, current))
        for offset, before, after in state.words:
            current.handles[after] = (offset, event.stack)
            if any(begin <= offset < end for begin, end in current.fresh):
                continue
            begin = state.objects.begin_at(offset)
            for value, owners in ((before, current.overwritten), (after, current.stored)):
                if value >= MIN_HANDLE and value != state.uuid:
                    owners.setdefault(value, set()).add(begin)

    def _end(self, current: OpenTransaction, *, undone: bool) -> Iterator[TransactionFact]:
        """Yield a transaction's facts at its end: only its bare stores if it was undone."""
        yield from current.bare
        if undone:
            return
        objects = self._state.objects
        for target in current.freed:
            offset, stack = current.handles.get(target, (0, ()))
            if objects.at(offset) is not None and self._state.word(offset) == target:
                yield FreedHandle(offset, stack, target)
        for snapshot in current.snapshots:
            if snapshot.used or not snapshot.undoes:
                self._used.add(snapshot.stack)
            elif snapshot.stack not in self._unused:
                self._unused[snapshot.stack] = UnusedSnapshot(
                    snapshot.begin,
                    snapshot.end - snapshot.begin,
                    snapshot.stack,
                    objects.describe(snapshot.begin),
                )


def _snapshot(event: TraceEvent, current: OpenTransaction) -> Iterator[VolatileSnapshot]:
    if event.c:
        if not current.is_foreign:
            yield VolatileSnapshot(event.a, event.b, event.stack)
        return
    undoes = not int.from_bytes(event.payload[:8], "little") & _NO_SNAPSHOT
    current.snapshots.append(UndoRange(event.a, event.a + event.b, event.stack, undoes))


def _covered_to(current: OpenTransaction, change: ByteRange) -> int:
    """Return the end of the part of `change` that an abort undoes; mark snapshots as used.

    The part begins with the change. Snapshots and new objects together may cover it.
    """
    at = change.begin
    extended = True
    while extended and at < change.end:
        extended = False
        for begin, end in current.fresh:
            if begin <= at < end:
                at, extended = end, True
        for snapshot in current.snapshots:
            if snapshot.begin < change.end and change.begin < snapshot.end:
                snapshot.used = True
            if snapshot.begin <= at < snapshot.end:
                at, extended = snapshot.end, True
    return at

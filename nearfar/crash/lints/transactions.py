"""What a transaction of libpmemobj would not undo, and snapshots for nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from nearfar.crash.layout import Kind
from nearfar.crash.lints.finding import Finding
from nearfar.crash.lints.objects import ALLOCATIONS, Allocation
from nearfar.crash.lints.whose import Whose
from nearfar.crash.lints.world import Change, World
from nearfar.crash.trace import Event
from nearfar.documents.crash_report import LintKind

_NO_SNAPSHOT = 1 << 2
"""POBJ_XADD_NO_SNAPSHOT, libpmemobj/base.h: flushed at commit, not undone."""
_WORD_BYTES = 8
_STATEMENT_BYTES = 16
"""Of code: two moves of 8 bytes, as a struct is assigned, lie closer together."""
_LEAST_HANDLE = 4096
"""A smaller word is a number; no object lies in a pool's first page."""


@dataclass
class _Snapshot:
    begin: int
    end: int
    stack: tuple[int, ...]
    undoes: bool
    used: bool = False


@dataclass(frozen=True)
class _Store:
    """Bytes stored to without a snapshot."""

    offset: int
    stack: tuple[int, ...]
    owner: Allocation | None
    words: tuple[tuple[int, int, int], ...]


@dataclass
class _Transaction:
    is_foreign: bool
    """Of another pool than the one explored."""
    snapshots: list[_Snapshot] = field(default_factory=list)
    fresh: list[tuple[int, int]] = field(default_factory=list)
    """Objects that it made: they go with it."""
    bare: list[_Store] = field(default_factory=list)
    covered: list[tuple[tuple[int, ...], int]] = field(default_factory=list)
    """Stacks and objects of stores that had their snapshot."""
    gone: dict[int, set[int]] = field(default_factory=dict)
    """Words that were overwritten: value to the objects that held it."""
    come: dict[int, set[int]] = field(default_factory=dict)
    handles: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    """Words that were stored: value to where it was last, and by whom."""
    freed: list[int] = field(default_factory=list)
    is_committing: bool = False


class Transactions:
    """Watches every thread's transactions, nested ones as one."""

    def __init__(self, world: World, whose: Whose) -> None:
        self._whose = whose
        self._open: dict[int, _Transaction] = {}
        self._unused: dict[tuple[int, ...], Finding] = {}
        self._used: set[tuple[int, ...]] = set()

    def feed(self, event: Event, world: World) -> Iterator[Finding]:
        """Take one event."""
        if event.kind is Kind.TX_BEGIN:
            if event.a <= 1 or event.thread not in self._open:
                self._open[event.thread] = _Transaction(is_foreign=bool(event.c))
            return
        now = self._open.get(event.thread)
        if now is None:
            return
        if event.kind is Kind.TX_SNAPSHOT:
            yield from self._snapshot(event, now)
        elif event.kind in ALLOCATIONS:
            now.fresh.append((event.a, event.a + event.b))
        elif event.kind is Kind.TX_FREE:
            now.freed.append(event.a)
        elif event.kind is Kind.STORE and not now.is_committing:
            self._store(event, now, world)
        elif event.kind is Kind.TOUCH:
            for snapshot in now.snapshots:
                # Of a silent store only the first byte is known.
                if snapshot.begin <= event.a < snapshot.end:
                    snapshot.used = True
                    owner = world.objects.at(event.a)
                    now.covered.append((event.stack, -1 if owner is None else owner.begin))
        elif event.kind is Kind.TX_COMMIT and event.a <= 1:
            now.is_committing = True
        elif event.kind is Kind.TX_ABORT:
            now.is_committing = True  # what is undone is undone by libpmemobj
        elif event.kind is Kind.TX_END and event.a <= 1:
            yield from self._end(now, world, undone=event.c != 0)
            del self._open[event.thread]

    def finish(self, world: World) -> Iterator[Finding]:
        """Tell the snapshots that no transaction needed."""
        for now in self._open.values():
            yield from self._end(now, world, undone=True)
        if not world.trace.coarse:
            for stack, finding in self._unused.items():
                if stack not in self._used:
                    yield finding

    def _snapshot(self, event: Event, now: _Transaction) -> Iterator[Finding]:
        if event.c:
            if not now.is_foreign:
                note = f"{event.b} bytes at {event.a:#x}, which is not in the pool"
                yield Finding("snapshot of volatile data", 0, event.stack, note)
            return
        undoes = not int.from_bytes(event.payload[:8], "little") & _NO_SNAPSHOT
        now.snapshots.append(_Snapshot(event.a, event.a + event.b, event.stack, undoes))

    def _store(self, event: Event, now: _Transaction, world: World) -> None:
        if not self._whose.users(event.stack):
            return
        for change in world.changes:
            owner = world.objects.at(change.begin)
            begin = -1 if owner is None else owner.begin
            if (end := _covered_to(now, change)) >= change.end:
                now.covered.append((event.stack, begin))
                continue
            words = tuple(word for word in world.words if word[0] <= end < word[0] + _WORD_BYTES)
            now.bare.append(_Store(end, event.stack, owner, words))
        for offset, before, after in world.words:
            now.handles[after] = (offset, event.stack)
            if any(begin <= offset < end for begin, end in now.fresh):
                continue
            owner = world.objects.at(offset)
            begin = -1 if owner is None else owner.begin
            for value, where in ((before, now.gone), (after, now.come)):
                if value >= _LEAST_HANDLE and value != world.uuid:
                    where.setdefault(value, set()).add(begin)

    def _end(self, now: _Transaction, world: World, *, undone: bool) -> Iterator[Finding]:
        for store in now.bare:
            kind, note = _name(store, now)
            yield Finding(
                kind, store.offset, store.stack, note, world.objects.describe(store.offset)
            )
        if undone:
            return
        for begin in now.freed:
            offset, stack = now.handles.get(begin, (0, ()))
            owner = world.objects.describe(offset)
            if owner is not None and world.word(offset) == begin:
                note = f"{begin:#x} was freed by the same transaction"
                yield Finding("freed handle kept", offset, stack, note, owner)
        for snapshot in now.snapshots:
            if snapshot.used or not snapshot.undoes:
                self._used.add(snapshot.stack)
            else:
                described = world.objects.describe(snapshot.begin)
                note = f"{snapshot.end - snapshot.begin} bytes"
                self._unused.setdefault(
                    snapshot.stack,
                    Finding("snapshot never used", snapshot.begin, snapshot.stack, note, described),
                )


def _covered_to(now: _Transaction, change: Change) -> int:
    """Return up to where a change needs no further snapshot; marks snapshots as used."""
    at = change.begin
    moved = True
    while moved and at < change.end:
        moved = False
        for begin, end in now.fresh:
            if begin <= at < end:
                at, moved = end, True
        for snapshot in now.snapshots:
            if snapshot.begin < change.end and change.begin < snapshot.end:
                snapshot.used = True
            if snapshot.begin <= at < snapshot.end:
                at, moved = snapshot.end, True
    return at


def _name(store: _Store, now: _Transaction) -> tuple[LintKind, str]:
    """Return of which kind a store without snapshot is, and why."""
    if now.is_foreign:
        return "moved without both snapshots", "the transaction is of another pool"
    begin = -1 if store.owner is None else store.owner.begin
    for _, before, after in store.words:
        for value, there in ((after, now.gone), (before, now.come)):
            if there.get(value, set()) - {begin}:
                return "moved without both snapshots", f"{value:#x} changes its object"
    near = [
        one
        for one in now.snapshots
        if store.owner is not None and store.owner.begin <= one.begin < store.owner.end
    ]
    in_word = store.offset // _WORD_BYTES
    cut = any((one.end - 1) // _WORD_BYTES == in_word for one in near)
    if cut or any(begin == at and _one_statement(store.stack, by) for by, at in now.covered):
        return "snapshot too short", _reach(near, begin)
    return "store without snapshot", _reach(near, begin)


def _one_statement(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether two stores are likely parts of one assignment or copy."""
    return one[1:] == other[1:] and abs(one[0] - other[0]) <= _STATEMENT_BYTES


def _reach(near: list[_Snapshot], begin: int) -> str:
    if not near:
        return ""
    ends = ", ".join(f"{one.begin - begin}-{one.end - begin - 1}" for one in near[:3])
    return f"of this object the transaction has bytes {ends}"

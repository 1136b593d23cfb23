"""What a run's operations on a map or a set may have left, when the power went.

Durable linearisability: operations that ended are there, each of those in flight is or is not, and
all of them took effect in an order that the marks allow (who ended before another began came
first). Keys are independent of each other, so each key is asked for itself; an operation in flight
that was seen (a `get` that found what only it can have put there) must be there.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass, field

from nearfar.base.errors import CommandError
from nearfar.crash.layout import Kind
from nearfar.crash.trace import Event
from nearfar.documents.crash_report import CrashExpected, CrashKey

ANYTHING = "\0anything"
"""Of a key of which nothing is known: the pool held something before the run."""
_PUTS = frozenset({"insert", "put", "add", "set", "update", "upsert", "push"})
_REMOVES = frozenset({"remove", "delete", "erase", "del"})
_LOOKS = frozenset({"get", "contains", "lookup", "find"})
_MOST_WAYS = 4096
"""Ways to order what overlaps on one key: more mean that nothing ever ends."""

Value = str | None
"""Of a key; None: it is absent."""


@dataclass(frozen=True)
class Operation:
    """One call, as the program marked it."""

    kind: str
    key: str
    value: str
    position: int
    """Records of the trace before it; tells two alike apart."""

    def __str__(self) -> str:
        return f"{self.kind} {self.key} {self.value}" if self.kind in _PUTS else self._short()

    def _short(self) -> str:
        return f"{self.kind} {self.key}"

    def after(self, before: Value) -> Value:
        """Return the key's value once it has taken effect."""
        if self.kind in _PUTS:
            return self.value
        return None if self.kind in _REMOVES else before


@dataclass(frozen=True)
class _Way:
    """One order of what happened to a key so far."""

    value: Value
    applied: frozenset[tuple[int, bool]]
    """Positions of the operations in flight that have taken effect, and whether they found the
    key: a `get` is told what it found only when it ends."""


@dataclass
class _Key:
    ways: set[_Way]
    flying: dict[int, Operation] = field(default_factory=dict)
    positions: list[int] = field(default_factory=list)
    possible: list[frozenset[Value]] = field(default_factory=list)
    last: list[Operation | None] = field(default_factory=list)
    """The last that ended, at each position."""


class History:
    """Of one run."""

    def __init__(self, events: Iterable[Event], *, empty: bool) -> None:
        """Read a trace; `empty`: the pool held no key when the run began."""
        self._first: Value = None if empty else ANYTHING
        self._keys: dict[str, _Key] = {}
        self.operations = 0
        flying: dict[int, Operation] = {}
        for position, event in enumerate(events, 1):
            if event.kind is Kind.OPERATION:
                operation = _operation(event, position)
                flying[event.thread] = operation
                self._begin(operation, position)
                self.operations += 1
            elif event.kind is Kind.OUTCOME and event.thread in flying:
                worked = event.payload != b"0"
                self._end(flying.pop(event.thread), position, worked=worked)

    def possible(self, key: str, position: int) -> frozenset[Value]:
        """Return what the key may hold if the power goes after so many records."""
        known = self._keys.get(key)
        at = -1 if known is None else bisect.bisect_right(known.positions, position) - 1
        return frozenset({self._first}) if known is None or at < 0 else known.possible[at]

    def last(self, key: str, position: int) -> Operation | None:
        """Return the key's last operation that had ended."""
        known = self._keys.get(key)
        at = -1 if known is None else bisect.bisect_right(known.positions, position) - 1
        return None if known is None or at < 0 else known.last[at]

    def expected(self, position: int) -> CrashExpected:
        """Return what a pool may hold if the power goes after so many records."""
        keys = {}
        for key in self._keys:
            possible = self.possible(key, position)
            known = possible - {ANYTHING}
            keys[key] = CrashKey(
                allowed=sorted(known, key=lambda value: (value is not None, value or "")),
                anything=ANYTHING in possible,
                last=str(self.last(key, position) or ""),
            )
        return CrashExpected(keys=keys, others=self._first == ANYTHING)

    def _begin(self, operation: Operation, position: int) -> None:
        known = self._keys.setdefault(operation.key, _Key({_Way(self._first, frozenset())}))
        known.flying[operation.position] = operation
        self._note(known, position, known.last[-1] if known.last else None)

    def _end(self, operation: Operation, position: int, *, worked: bool) -> None:
        known = self._keys[operation.key]
        found: set[_Way] = set()
        both = {(operation.position, True), (operation.position, False)}
        for way in _reachable(known.ways, known.flying):
            seen = way.applied & both
            if not seen:
                if not worked and operation.kind not in _LOOKS:
                    found.add(way)  # it changed nothing
            elif operation.kind in _LOOKS:
                if way.value == ANYTHING or (operation.position, worked) in seen:
                    found.add(_Way(way.value, way.applied - both))
            elif worked:
                found.add(_Way(way.value, way.applied - both))
        del known.flying[operation.position]
        # A run that is wrong without any crash is not for this oracle to say.
        known.ways = found or {_Way(way.value, way.applied - both) for way in known.ways}
        self._note(known, position, operation)

    def _note(self, known: _Key, position: int, last: Operation | None) -> None:
        known.positions.append(position)
        ways = _reachable(known.ways, known.flying)
        known.possible.append(frozenset(way.value for way in ways))
        known.last.append(last)


def _reachable(ways: set[_Way], flying: dict[int, Operation]) -> set[_Way]:
    """Return the ways with any of those in flight done, in any order."""
    found = set(ways)
    todo = list(ways)
    while todo and len(found) < _MOST_WAYS:
        way = todo.pop()
        for position, operation in flying.items():
            if (position, True) in way.applied or (position, False) in way.applied:
                continue
            mark = (position, way.value is not None)
            further = _Way(operation.after(way.value), way.applied | {mark})
            if further not in found:
                found.add(further)
                todo.append(further)
    return found


def _operation(event: Event, position: int) -> Operation:
    kind, key, value, *_ = [*event.payload.decode(errors="replace").split("\0"), "", "", ""]
    if kind not in _PUTS | _REMOVES | _LOOKS:
        raise CommandError(
            f"the program marks an operation {kind!r} (NEARFAR_CRASH_OP): say insert, remove or get"
        )
    return Operation(kind, key, value, position)

"""Values that a run's operations on a map or set may have left when the power went.

The rule is durable linearisability. Each operation that ended took effect, and an operation in
flight may have taken effect. An operation that ended before another began comes first. Keys are
independent, so each key is judged separately. An operation in flight must have taken effect if a
`get` that ended returned its value.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass, field

from nearfar.base.errors import CommandError
from nearfar.crash.trace import EventKind, TraceEvent
from nearfar.documents.crash_report import CrashExpected, CrashKey

ANYTHING = "\0anything"
"""Value of a key that may have existed before the run."""
_PUTS = frozenset({"insert", "put", "add", "set", "update", "upsert", "push"})
_REMOVES = frozenset({"remove", "delete", "erase", "del"})
_LOOKUPS = frozenset({"get", "contains", "lookup", "find"})
_MAX_OUTCOMES = 4096
"""Maximum number of orders of overlapping operations on one key; more mean that operations never
end."""

Value = str | None
"""Value of a key; None: it is absent."""


@dataclass(frozen=True)
class MarkedOperation:
    """One call, as the program marked it."""

    kind: str
    key: str
    value: str
    position: int
    """Number of records before it, which identifies it."""

    def __str__(self) -> str:
        value = f" {self.value}" if self.kind in _PUTS else ""
        return f"{self.kind} {self.key}{value}"

    def after(self, before: Value) -> Value:
        """Return the key's value after the operation took effect."""
        if self.kind in _PUTS:
            return self.value
        return None if self.kind in _REMOVES else before


@dataclass(frozen=True)
class _Outcome:
    """Result of one order of the operations on a key so far."""

    value: Value
    applied: frozenset[tuple[int, bool]]
    """Position of each operation in flight that took effect, and whether the key existed before.
    The result of a `get` is compared with the latter when the `get` ends."""


@dataclass
class _Key:
    outcomes: set[_Outcome]
    in_flight: dict[int, MarkedOperation] = field(default_factory=dict)
    positions: list[int] = field(default_factory=list)
    """Positions at which an operation began or ended."""
    possible: list[frozenset[Value]] = field(default_factory=list)
    """Values that the key may have, at each position."""
    last: list[MarkedOperation | None] = field(default_factory=list)
    """Last operation that ended, at each position."""


class OperationHistory:
    """Marked operations of one run and the values they allow."""

    def __init__(self, events: Iterable[TraceEvent], *, empty: bool) -> None:
        """Read a trace; `empty`: the pool had no keys before the run."""
        self._first: Value = None if empty else ANYTHING
        self._keys: dict[str, _Key] = {}
        self.operations = 0
        in_flight: dict[int, MarkedOperation] = {}
        for position, event in enumerate(events, 1):
            if event.kind is EventKind.OPERATION:
                operation = _operation(event, position)
                in_flight[event.thread] = operation
                self._begin(operation, position)
                self.operations += 1
            elif event.kind is EventKind.OUTCOME and event.thread in in_flight:
                worked = event.payload != b"0"
                self._end(in_flight.pop(event.thread), position, worked=worked)

    def possible(self, key: str, position: int) -> frozenset[Value]:
        """Return the values that a key may have after a power cut after `position` records."""
        known = self._keys.get(key)
        at = -1 if known is None else bisect.bisect_right(known.positions, position) - 1
        return frozenset({self._first}) if known is None or at < 0 else known.possible[at]

    def last(self, key: str, position: int) -> MarkedOperation | None:
        """Return the key's last operation that had ended."""
        known = self._keys.get(key)
        at = -1 if known is None else bisect.bisect_right(known.positions, position) - 1
        return None if known is None or at < 0 else known.last[at]

    def expected(self, position: int) -> CrashExpected:
        """Return the content that a pool may have after a power cut after `position` records."""
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

    def _begin(self, operation: MarkedOperation, position: int) -> None:
        known = self._keys.setdefault(operation.key, _Key({_Outcome(self._first, frozenset())}))
        known.in_flight[operation.position] = operation
        self._note(known, position, known.last[-1] if known.last else None)

    def _end(self, operation: MarkedOperation, position: int, *, worked: bool) -> None:
        """Keep the outcomes in which `operation` had the result that the program marked."""
        known = self._keys[operation.key]
        remaining: set[_Outcome] = set()
        both = {(operation.position, True), (operation.position, False)}
        for outcome in _reachable(known.outcomes, known.in_flight):
            applied = outcome.applied & both
            if not applied:
                if not worked and operation.kind not in _LOOKUPS:
                    remaining.add(outcome)  # the operation changed nothing
            elif operation.kind in _LOOKUPS:
                if outcome.value == ANYTHING or (operation.position, worked) in applied:
                    remaining.add(_Outcome(outcome.value, outcome.applied - both))
            elif worked:
                remaining.add(_Outcome(outcome.value, outcome.applied - both))
        del known.in_flight[operation.position]
        # This oracle does not judge a run that is wrong even without a crash.
        known.outcomes = remaining or {
            _Outcome(outcome.value, outcome.applied - both) for outcome in known.outcomes
        }
        self._note(known, position, operation)

    def _note(self, known: _Key, position: int, last: MarkedOperation | None) -> None:
        known.positions.append(position)
        outcomes = _reachable(known.outcomes, known.in_flight)
        known.possible.append(frozenset(outcome.value for outcome in outcomes))
        known.last.append(last)


def _reachable(outcomes: set[_Outcome], in_flight: dict[int, MarkedOperation]) -> set[_Outcome]:
    """Return the outcomes after any of the operations in flight, in any order."""
    reachable = set(outcomes)
    pending = list(outcomes)
    while pending and len(reachable) < _MAX_OUTCOMES:
        outcome = pending.pop()
        for position, operation in in_flight.items():
            if (position, True) in outcome.applied or (position, False) in outcome.applied:
                continue
            mark = (position, outcome.value is not None)
            further = _Outcome(operation.after(outcome.value), outcome.applied | {mark})
            if further not in reachable:
                reachable.add(further)
                pending.append(further)
    return reachable


def _operation(event: TraceEvent, position: int) -> MarkedOperation:
    kind, key, value, *_ = [*event.payload.decode(errors="replace").split("\0"), "", "", ""]
    if kind not in _PUTS | _REMOVES | _LOOKUPS:
        raise CommandError(
            f"the program marks an operation {kind!r} (NEARFAR_CRASH_OP): use insert, remove or get"
        )
    return MarkedOperation(kind, key, value, position)

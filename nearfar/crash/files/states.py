"""States of a run that a power cut may leave, in the order most likely to find bugs early.

At each point, the states are: nothing lost; all pending operations lost; one lost; one torn; all
lost but one; random pairs and sets. Operations that cannot survive without a lost operation are
lost too. Points whose kinds of pending operations are new come first, then points whose kinds were
seen fewer than three times, then the others.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from nearfar.crash.files.contents import LOST, Damage
from nearfar.crash.files.durability import CrashPoint, points_of
from nearfar.crash.files.models._registry import FileSystem
from nearfar.crash.files.operations import FileRun, Operation, Output

_MAX_SINGLES = 48
"""Pending operations of one point that are lost or torn alone."""
_RANDOM_STATES = 8
_STRIDE = 16
"""Frequent points are judged in 16 passes, each over every 16th point, so that an exploration that
ends early has covered the whole run."""


@dataclass(frozen=True, slots=True)
class FileState:
    """A state after a power cut: its point, and the damage of operations that are not complete."""

    model: FileSystem
    point: CrashPoint
    damages: dict[int, Damage]


def signature(operation: Operation) -> tuple[object, ...]:
    """Return a key that operations of one kind at one place of the program share."""
    text = re.sub(r"0x[0-9a-f]+|[0-9a-f]*[0-9][0-9a-f]*", "#", operation.text)
    # Deeper frames may be stale words of earlier calls, which differ from call to call.
    return operation.kind, text, operation.stack[:1]


def closed(run: FileRun, state: FileState) -> FileState:
    """Return the state in which operations that cannot survive without a lost one are lost too."""
    damages = dict(state.damages)
    incomplete = [run.operations[number] for number in sorted(damages)]
    for number in state.point.pending:
        if number in damages:
            continue
        operation = run.operations[number]
        if any(
            early.number < number and state.model.precedes(early, operation) for early in incomplete
        ):
            damages[number] = LOST
            incomplete.append(operation)
    return FileState(state.model, state.point, damages)


class StateOrder:
    """States of one run under some models, in the order in which they are judged."""

    def __init__(self, run: FileRun, models: Sequence[FileSystem], seed: int) -> None:
        self._run = run
        self._models = models
        self._seed = seed
        self._points = {model.name: self._ranked(points_of(run, model)) for model in models}
        self.events = {point.event for points in self._points.values() for _, point in points}
        """Events after which the power is cut and something may be lost."""

    def states(self) -> Iterator[FileState]:
        """Yield all states; some are equal."""
        phases: tuple[Callable[[FileSystem, CrashPoint], Iterator[FileState]], ...] = (
            self._all_kept,
            self._all_lost,
            self._one_lost,
            self._one_torn,
            self._one_kept,
            self._random,
        )
        for rank in range(3):
            for phase in phases:
                for model in self._models:
                    for _, point in self._of_rank(model, rank):
                        yield from phase(model, point)
            if rank == 0:
                yield from self._prefixes(first=True)
        yield from self._prefixes(first=False)

    def _of_rank(self, model: FileSystem, rank: int) -> list[tuple[int, CrashPoint]]:
        points = [entry for entry in self._points[model.name] if entry[0] == rank]
        if rank < 2:
            return points
        return [entry for begin in range(_STRIDE) for entry in points[begin::_STRIDE]]

    def _ranked(self, points: Sequence[CrashPoint]) -> list[tuple[int, CrashPoint]]:
        seen: Counter[object] = Counter()
        ranked = []
        for point in points:
            event = self._run.events[point.event - 1] if point.event else None
            output = isinstance(event, Output)
            pending = frozenset(signature(self._run.operations[n]) for n in point.pending[-64:])
            key = (output, pending)
            ranked.append((0 if seen[key] == 0 else 1 if seen[key] < 3 else 2, point))
            seen[key] += 1
        return ranked

    def _prefixes(self, *, first: bool) -> Iterator[FileState]:
        """Yield the run up to each operation; `first`: only operations seen fewer than 3 times."""
        seen: Counter[object] = Counter()
        done = printed = 0
        for number, event in enumerate(self._run.events, 1):
            if isinstance(event, Output):
                printed += len(event.data)
            if not isinstance(event, Operation):
                continue
            done += 1
            key = signature(event)
            seen[key] += 1
            if (seen[key] < 3) == first:
                # Nothing is lost, so the model does not matter.
                yield FileState(self._models[0], CrashPoint(number, done, printed, ()), {})

    def _state(self, model: FileSystem, point: CrashPoint, damages: dict[int, Damage]) -> FileState:
        return closed(self._run, FileState(model, point, damages))

    def _all_kept(self, model: FileSystem, point: CrashPoint) -> Iterator[FileState]:
        yield FileState(model, point, {})

    def _all_lost(self, model: FileSystem, point: CrashPoint) -> Iterator[FileState]:
        yield FileState(model, point, dict.fromkeys(point.pending, LOST))

    def _singles(self, point: CrashPoint) -> list[int]:
        """Return the pending operations; if there are many, the newest and one of each kind."""
        if len(point.pending) <= _MAX_SINGLES:
            return list(point.pending)
        newest = point.pending[-_MAX_SINGLES // 2 :]
        kinds = {signature(self._run.operations[n]): n for n in reversed(point.pending)}
        others = sorted(set(kinds.values()) - set(newest))
        return [*others[: _MAX_SINGLES // 2], *newest]

    def _one_lost(self, model: FileSystem, point: CrashPoint) -> Iterator[FileState]:
        for number in self._singles(point):
            yield self._state(model, point, {number: LOST})

    def _one_torn(self, model: FileSystem, point: CrashPoint) -> Iterator[FileState]:
        for number in self._singles(point):
            operation = self._run.operations[number]
            if operation.writes:
                for damage in model.tears(operation):
                    yield self._state(model, point, {number: damage})

    def _one_kept(self, model: FileSystem, point: CrashPoint) -> Iterator[FileState]:
        operations = self._run.operations
        for number in self._singles(point):
            kept = [operations[number]]
            for early in reversed(point.pending[: point.pending.index(number)]):
                if any(model.precedes(operations[early], late) for late in kept):
                    kept.append(operations[early])
            numbers = {operation.number for operation in kept}
            yield FileState(model, point, {n: LOST for n in point.pending if n not in numbers})

    def _random(self, model: FileSystem, point: CrashPoint) -> Iterator[FileState]:
        """Yield states in which random pending operations are lost or torn."""
        draw = random.Random(f"{self._seed} {model.name} {point.event}")
        if len(point.pending) < 2:
            return
        for _ in range(_RANDOM_STATES):
            chosen = draw.sample(point.pending, draw.randint(1, min(2, len(point.pending))))
            if draw.random() < 0.5:
                chosen = [n for n in point.pending if draw.random() < 0.5]
            damages: dict[int, Damage] = {}
            for number in chosen:
                operation = self._run.operations[number]
                tears = list(model.tears(operation)) if operation.writes else []
                torn = tears and draw.random() < 0.3
                damages[number] = draw.choice(tears) if torn else LOST
            yield self._state(model, point, damages)

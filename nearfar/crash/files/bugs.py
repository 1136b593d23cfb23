"""Shrinks failing states of files and groups them by bug, so that each is reported once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from nearfar.crash.bugs import FoundBug, PointKind, without_numbers
from nearfar.crash.checker import CheckerVerdict
from nearfar.crash.files.contents import LOST, Damage, FileImage
from nearfar.crash.files.images import packed
from nearfar.crash.files.operations import FileRun, Operation, Output
from nearfar.crash.files.states import FileState, closed, signature
from nearfar.crash.symbols import TraceSymbols
from nearfar.documents.crash_report import CrashBug, CrashLine

_MAX_CHECKS = 40
"""Checks that shrink one state."""
_MAX_SHRUNK = 40
Judge = Callable[[FileState], CheckerVerdict]
Build = Callable[[FileState], Sequence[FileImage]]


class FileBugs:
    """Bugs of one exploration."""

    def __init__(self, run: FileRun, symbols: TraceSymbols, judge: Judge, build: Build) -> None:
        self._run = run
        self._symbols = symbols
        self._judge = judge
        self._build = build
        self._by_key: dict[tuple[tuple[str, str], frozenset[object]], FoundBug] = {}
        self._by_features: dict[object, FoundBug] = {}
        self._printed = b"".join(e.data for e in run.events if isinstance(e, Output))
        self._shrunk = 0

    def all(self) -> list[FoundBug]:
        """Return the bugs in the order in which they were found."""
        return list(self._by_key.values())

    def add(self, state: FileState, verdict: CheckerVerdict) -> FoundBug:
        """Count a refused state as one of a known bug, or shrink it to find its bug."""
        features = (*_symptom(verdict), self._damaged(state))
        bug = self._by_features.get(features) or self._known(state, verdict)
        if bug is None and self._shrunk >= _MAX_SHRUNK:
            bug = next(iter(self._by_key.values()))
        if bug is None:
            self._shrunk += 1
            bug = self._shrink(state, verdict)
        self._by_features[features] = bug
        bug.bug.states += 1
        self.also_in(bug, state)
        return bug

    def also_in(self, bug: FoundBug, state: FileState) -> None:
        """Note that the state's model allows the bug too."""
        if state.model.name not in bug.bug.models:
            bug.bug.models.append(state.model.name)

    def _damaged(self, state: FileState) -> frozenset[object]:
        """Return the kinds of incomplete operations; without any, that of the last operation."""
        numbers = list(state.damages) or range(max(state.point.done - 1, 0), state.point.done)
        return frozenset(signature(self._run.operations[number]) for number in numbers)

    def _trimmed(self, state: FileState) -> FileState:
        """Return the state of the same image with fewer operations.

        Lost operations at the end are removed, because the power cut may as well precede them. At
        least one incomplete operation remains.
        """
        damages, done = dict(state.damages), state.point.done
        while len(damages) > 1 and damages.get(done - 1) == LOST:
            done -= 1
            del damages[done]
        pending = tuple(number for number in state.point.pending if number < done)
        point = dataclasses.replace(state.point, done=done, pending=pending)
        return FileState(state.model, point, damages)

    def _known(self, state: FileState, verdict: CheckerVerdict) -> FoundBug | None:
        """Return a known bug that looks the same, or that some of the lost operations cause.

        Bugs look the same if symptom and output are equal and several operations are incomplete.
        """
        symptom = _symptom(verdict)
        damaged = self._damaged(state)
        for (known, needed), bug in self._by_key.items():
            several = len(needed) > 1 or len(damaged) > 1
            if known == symptom and several and (state.damages or needed == damaged):
                return bug
            if known[0] == symptom[0] and state.damages and bug.bug.lost and needed <= damaged:
                return bug
        return None

    def _shrink(self, state: FileState, verdict: CheckerVerdict) -> FoundBug:
        """Reduce a failing state by at most `_MAX_CHECKS` checks, and return its bug."""
        checks_left = _MAX_CHECKS

        def fails(tried: FileState) -> bool:
            nonlocal checks_left
            checks_left -= 1
            return checks_left >= 0 and self._judge(tried).symptom == verdict.symptom

        small = self._trimmed(self._restored(state, fails))
        final = self._judge(small)
        if (bug := self._known(small, final)) is not None:
            return bug
        key = _symptom(final), self._damaged(small)
        if key not in self._by_key:
            needed = self._needed(small, fails)
            self._by_key[key] = self._report(small, needed, final)
        return self._by_key[key]

    def _restored(self, state: FileState, fails: Callable[[FileState], bool]) -> FileState:
        """Return a failing state with as few incomplete operations as possible."""
        small, step = state, len(state.damages)
        while step:
            damaged = sorted(small.damages)
            for begin in range(0, len(damaged), step):
                restored = damaged[begin : begin + step]
                damages = {n: damage for n, damage in small.damages.items() if n not in restored}
                tried = FileState(state.model, state.point, damages)
                if closed(self._run, tried) == tried and fails(tried):
                    small = tried
            step //= 2
        return small

    def _needed(self, small: FileState, fails: Callable[[FileState], bool]) -> list[Operation]:
        """Return the pending operations that must have survived for the symptom."""
        smallest, needed = small, []
        for number in reversed(small.point.pending):
            if number in smallest.damages:
                continue
            damages = {**smallest.damages, number: LOST}
            tried = closed(self._run, FileState(small.model, small.point, damages))
            if fails(tried):
                smallest = tried
            else:
                needed.append(self._run.operations[number])
        return needed[::-1]

    def _report(
        self, state: FileState, needed: Sequence[Operation], verdict: CheckerVerdict
    ) -> FoundBug:
        event = self._run.events[state.point.event - 1] if state.point.event else None
        last = state.point.event == len(self._run.events)
        kinds: tuple[PointKind, PointKind] = ("end", "call")
        at: PointKind = "output" if isinstance(event, Output) else kinds[not last]
        stack = () if event is None or isinstance(event, Output) else event.stack
        operations = self._run.operations
        bug = CrashBug(
            id=len(self._by_key) + 1,
            symptom=verdict.symptom,
            said=verdict.output,
            point=state.point.event,
            at=at,
            operation=None,
            frames=self._symbols.frames(stack) if stack else [],
            survived=[self._line(operation, None) for operation in needed],
            lost=[self._line(operations[n], d) for n, d in sorted(state.damages.items())],
            states=0,
            replay="",
        )
        printed = self._printed[: state.point.printed]
        return FoundBug(bug, -1, -1, [], files=packed(self._build(state)), printed=printed)

    def _line(self, operation: Operation, damage: Damage | None) -> CrashLine:
        what = operation.text
        if damage is not None and damage != LOST:
            parts = ", ".join(
                f"{max(begin, operation.offset):#x}-{min(end, operation.end) - 1:#x}"
                for begin, end in damage.kept
            )
            what += f" (only {parts or 'its size'})"
        return CrashLine(
            offset=operation.offset,
            stores=1,
            survived=int(damage is None),
            flushed=0,
            frames=self._symbols.frames(operation.stack) if operation.stack else [],
            what=what,
        )


def _symptom(verdict: CheckerVerdict) -> tuple[str, str]:
    lines = verdict.output.splitlines()
    return verdict.symptom, without_numbers(lines[-1]) if lines else ""

"""Shrinks failing states of files and groups them by bug, so that each is reported once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nearfar.crash.bugs import FoundBug, PointKind, without_numbers
from nearfar.crash.checker import CheckerVerdict
from nearfar.crash.files.contents import LOST, Damage, FileImage
from nearfar.crash.files.images import packed
from nearfar.crash.files.operations import FileRun, Operation, Output
from nearfar.crash.files.states import FileState, closed, signature
from nearfar.crash.symbols import TraceSymbols
from nearfar.documents.crash_report import CrashBug, CrashLine

_MAX_CHECKS = 60
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
        self._by_key: dict[object, FoundBug] = {}
        self._alike: dict[object, FoundBug] = {}
        self._printed = b"".join(e.data for e in run.events if isinstance(e, Output))
        self._shrunk = 0

    def all(self) -> list[FoundBug]:
        """Return the bugs in the order in which they were found."""
        return list(self._by_key.values())

    def add(self, state: FileState, verdict: CheckerVerdict) -> FoundBug:
        """Count a refused state as one of a known bug, or shrink it to find its bug."""
        features = (*_symptom(verdict), self._damaged(state))
        bug = self._alike.get(features)
        if bug is None and self._shrunk >= _MAX_SHRUNK:
            bug = next(iter(self._by_key.values()))
        if bug is None:
            self._shrunk += 1
            bug = self._alike[features] = self._shrink(state, verdict)
        bug.bug.states += 1
        self.also_in(bug, state)
        return bug

    def also_in(self, bug: FoundBug, state: FileState) -> None:
        """Note that the state's model allows the bug too."""
        if state.model.name not in bug.bug.models:
            bug.bug.models.append(state.model.name)

    def _damaged(self, state: FileState) -> object:
        """Return the kinds of operations that are not complete, and how; of none, the last one."""
        damages = frozenset(
            (signature(self._run.operations[number]), damage == LOST, damage.sized)
            for number, damage in state.damages.items()
        )
        if damages or not state.point.done:
            return damages
        return signature(self._run.operations[state.point.done - 1])

    def _shrink(self, state: FileState, verdict: CheckerVerdict) -> FoundBug:
        left = _MAX_CHECKS

        def fails(tried: FileState) -> bool:
            nonlocal left
            left -= 1
            return left >= 0 and self._judge(tried).symptom == verdict.symptom

        small = self._restored(state, fails)
        final = self._judge(small)
        key = (*_symptom(final), self._damaged(small))
        if key not in self._by_key:
            needed = self._needed(small, fails)
            self._by_key[key] = self._report(small, needed, final)
        return self._by_key[key]

    def _restored(self, state: FileState, fails: Callable[[FileState], bool]) -> FileState:
        """Return a failing state with as few incomplete operations as can be."""
        small = state
        for number in sorted(state.damages):
            damages = {n: damage for n, damage in small.damages.items() if n != number}
            tried = FileState(state.model, state.point, damages)
            if number in small.damages and closed(self._run, tried) == tried and fails(tried):
                small = tried
        return small

    def _needed(
        self, small: FileState, fails: Callable[[FileState], bool]
    ) -> list[Operation]:
        """Return the pending operations that must have survived for the symptom."""
        barest, needed = small, []
        for number in reversed(small.point.pending):
            if number in barest.damages:
                continue
            damages = {**barest.damages, number: LOST}
            tried = closed(self._run, FileState(small.model, small.point, damages))
            if fails(tried):
                barest = tried
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
        return FoundBug(
            bug, -1, -1, [], files=packed(self._build(state)), printed=printed
        )

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

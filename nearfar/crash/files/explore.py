"""Judges the states of a run of files within a budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nearfar.crash.bugs import FoundBug
from nearfar.crash.checker import CheckerVerdict
from nearfar.crash.explore import Ended
from nearfar.crash.files.bugs import FileBugs
from nearfar.crash.files.checker import FileChecker
from nearfar.crash.files.contents import Contents, FileImage
from nearfar.crash.files.models._registry import FileSystem
from nearfar.crash.files.operations import FileRun, Output
from nearfar.crash.files.states import FileState, StateOrder
from nearfar.crash.judge import ExplorationBudget
from nearfar.crash.symbols import TraceSymbols
from nearfar.documents.crash_report import CrashBug


@dataclass
class FileProgress:
    """Counts of an exploration."""

    points: int = 0
    points_explored: int = 0
    states: int = 0
    duplicates: int = 0
    judge_s: float = 0.0
    wall_s: float = 0.0
    ended: Ended = ""
    """Why not all states were judged."""


class FileExploration:
    """All states of one run."""

    def __init__(
        self,
        run: FileRun,
        models: Sequence[FileSystem],
        checker: FileChecker,
        symbols: TraceSymbols,
        seed: int,
    ) -> None:
        self._checker = checker
        self._contents = Contents(run)
        self._printed = b"".join(event.data for event in run.events if isinstance(event, Output))
        self._verdicts: dict[bytes, CheckerVerdict] = {}
        self._bug_of: dict[bytes, FoundBug] = {}
        self._order = StateOrder(run, models, seed)
        self.bugs = FileBugs(run, symbols, self.verdict, self.image)
        self.progress = FileProgress(points=len(self._order.events))

    def image(self, state: FileState) -> list[FileImage]:
        """Return the files of a state."""
        return self._contents.image(state.point.done, state.damages)

    def verdict(self, state: FileState) -> CheckerVerdict:
        """Return the checker's verdict, from the cache if an equal image was judged before."""
        image = self.image(state)
        printed = self._printed[: state.point.printed]
        key = self._contents.key(image, printed)
        if key not in self._verdicts:
            begin_s = time.monotonic()
            self._verdicts[key] = self._checker.judge(image, printed)
            self.progress.judge_s += time.monotonic() - begin_s
        return self._verdicts[key]

    def run(
        self, budget: ExplorationBudget, ends: Callable[[CrashBug], bool], begun_s: float
    ) -> None:
        """Judge states until all are judged, the budget or Ctrl-C ends, or `ends` accepts a bug."""
        begin_s = time.monotonic()
        try:
            self.progress.ended = self._explore(budget, ends, begun_s)
        except KeyboardInterrupt:
            self.progress.ended = "interrupted"
        self.progress.wall_s = time.monotonic() - begin_s

    def _explore(
        self, budget: ExplorationBudget, ends: Callable[[CrashBug], bool], begun_s: float
    ) -> Ended:
        """Judge states in order; return why the exploration ended before the last one."""
        progress = self.progress
        explored: set[int] = set()
        deadline_s = time.monotonic() + budget.seconds
        for state in self._order.states():
            printed = self._printed[: state.point.printed]
            key = self._contents.key(self.image(state), printed)
            is_new = key not in self._verdicts
            if is_new and progress.states >= budget.states:
                return "states"
            if is_new and time.monotonic() > deadline_s:
                return "seconds"
            explored |= {state.point.event} & self._order.events
            progress.points_explored = len(explored)
            if is_new:
                progress.states += 1
            else:
                progress.duplicates += 1
                if (known := self._bug_of.get(key)) is not None:
                    self.bugs.also_in(known, state)
                if not self._verdicts[key].symptom or known is not None:
                    continue
            states, seconds = progress.states, time.monotonic() - begun_s
            verdict = self.verdict(state)
            if not verdict.symptom:
                continue
            self._bug_of[key] = self.bugs.add(state, verdict)
            bug = self._bug_of[key].bug
            if bug.states == 1:
                bug.found_states, bug.found_s = states, seconds
                if ends(bug):
                    return "first bug"
        return ""

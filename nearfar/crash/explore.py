"""Explores a trace with one or more explorers, and takes what they find in one order.

Points of a rank are cut into chunks, each of which belongs to one explorer; failures are taken
chunk by chunk, so that the same seed and number of workers give the same report whichever explorer
was faster.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from nearfar.crash.bugs import Bugs
from nearfar.crash.checker import Verdict
from nearfar.crash.engine import RANKS, Engine, Plan
from nearfar.crash.judge import Judge, Moment
from nearfar.crash.memory import Line
from nearfar.crash.points import KINDS, Point
from nearfar.crash.trace import Trace
from nearfar.crash.wire import Taken


class ServedDiffersError(Exception):
    """A checker that stays loaded refuses what the same command accepts when it is started anew."""


COUNTS = (
    "points",
    "points_explored",
    "states",
    "duplicates",
    "judge_s",
    "wall_s",
    "rank",
    "chunk",
)


@dataclass
class Progress:
    """What was done."""

    points: int = 0
    """Of the run."""
    points_explored: int = 0
    states: int = 0
    duplicates: int = 0
    judge_s: float = 0.0
    """In the checkers, of all explorers together."""
    wall_s: float = 0.0
    complete: bool = False
    rank: int = 0
    """Everything of the ranks before it is judged,"""
    chunk: int = 0
    """and of it the chunks before this."""
    confirmed: set[tuple[str, str]] = field(default_factory=set)
    at_chunk: dict[str, int | float] = field(default_factory=dict)
    """The counts when all before ``rank`` and ``chunk`` was judged, and nothing else."""

    def reset(self, before: Progress) -> None:
        """Be as `before` was."""
        vars(self).update(vars(before))

    def mark(self) -> None:
        """Note the counts: a chunk is done."""
        self.at_chunk = {name: getattr(self, name) for name in COUNTS}


class Exploration:
    """Of one trace; `progress` holds also if it is interrupted."""

    def __init__(
        self, trace: Trace, plan: Plan, engines: Sequence[Engine], begun: Progress
    ) -> None:
        self._trace = trace
        self._plan = plan
        self._engines = engines
        self.progress = begun
        self._before = begun.states

    def run(self, judge: Judge, bugs: Bugs) -> None:
        """Judge states until all are judged or the budget is spent."""
        start_s = time.monotonic()
        before_s = self.progress.wall_s
        self.progress.mark()
        for engine in self._engines:
            engine.send("E")
        try:
            self.progress.complete = all(
                self._rank(rank, judge, bugs) for rank in range(self.progress.rank, RANKS)
            )
        finally:
            self.progress.wall_s = before_s + time.monotonic() - start_s

    def _rank(self, rank: int, judge: Judge, bugs: Bugs) -> bool:
        """Take what is found at the points of a rank; return whether the budget allowed all."""
        if rank != self.progress.rank:
            self.progress.rank, self.progress.chunk = rank, 0
            self.progress.mark()
        left = set(range(len(self._engines)))
        while left:
            worker = self.progress.chunk % len(self._engines)
            if worker in left:
                ended = self._chunk(self._engines[worker], judge, bugs)
                if ended == "X":
                    return False
                if ended == "Z":
                    left.discard(worker)
            self.progress.chunk += 1
            self.progress.mark()
        return True

    def _chunk(self, engine: Engine, judge: Judge, bugs: Bugs) -> str:
        while True:
            found = engine.take()
            if found.kind == "T":
                self._tally(found)
                if self._spent() and len(self._engines) > 1:
                    return "X"
            elif found.kind == "F":
                self._failure(found, engine, judge, bugs)
            elif found.kind == "K":
                self.progress.points = found.number()
            else:
                return found.kind

    def _spent(self) -> bool:
        return self.progress.states - self._before >= self._plan.states

    def _tally(self, found: Taken) -> None:
        states, duplicates, points, time_ns = found.numbers(4)
        self.progress.states += states
        self.progress.duplicates += duplicates
        self.progress.points_explored += points
        self.progress.judge_s += time_ns / 1e9

    def _failure(self, found: Taken, engine: Engine, judge: Judge, bugs: Bugs) -> None:
        number, at, record, position = found.numbers(4)
        done, begun = found.signed(), found.signed()
        moment = Moment(done, begun, position, found.numbers(found.number()))
        verdict = Verdict(found.text(), found.text().strip())
        state = {found.number(): found.number() for _ in range(found.number())}
        lines = self._lines(found)
        stack = self._trace.stack_at(record) if record else ()
        judge.at_failure(engine, state, verdict)
        self._confirm(judge, moment, state, verdict)
        bugs.add(Point(number, KINDS[at], stack), moment, lines, state, verdict)
        engine.send("G")

    def _lines(self, found: Taken) -> dict[int, Line]:
        lines = {}
        for _ in range(found.number()):
            offset, flushed, stores = found.numbers(3)
            stacks = [self._trace.stack_at(record) for record in found.numbers(stores)]
            lines[offset] = Line([b""] * stores, stacks, flushed)
        return lines

    def _confirm(
        self, judge: Judge, moment: Moment, state: dict[int, int], verdict: Verdict
    ) -> None:
        """Let the plain command say it too, the first time that something is said."""
        if not self._plan.served:
            return
        words = (verdict.symptom, re.sub(r"[0-9a-fA-F]*[0-9][0-9a-fA-F]*", "#", verdict.said))
        if words in self.progress.confirmed:
            return
        self.progress.confirmed.add(words)
        if not judge.plain(moment, state).symptom:
            raise ServedDiffersError

"""Explores a trace with one or more explorers, and processes their failures in a fixed order.

Points of a rank are divided into chunks, each of which belongs to one explorer. Failures are
processed chunk by chunk, so the report depends on seed and number of workers, not on speed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from nearfar.crash.bugs import POINT_KINDS, Bugs, FailurePoint, without_numbers
from nearfar.crash.checker import CheckerVerdict
from nearfar.crash.engine import RANKS, Engine, ExplorationPlan, ReceivedFrame
from nearfar.crash.judge import FailureContext, Judge, ServedDiffersError
from nearfar.crash.memory import PendingLine
from nearfar.crash.trace import CrashTrace

Ended = Literal["", "states", "seconds", "first bug", "interrupted"]
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
    """Counts of an exploration so far."""

    points: int = 0
    """Failure points of the run."""
    points_explored: int = 0
    states: int = 0
    duplicates: int = 0
    judge_s: float = 0.0
    """Time in the checkers, summed over all explorers."""
    wall_s: float = 0.0
    complete: bool = False
    ended: Ended = "interrupted"
    """Reason for the end; empty if it is complete."""
    rank: int = 0
    """Rank that is being explored; all lower ranks are complete."""
    chunk: int = 0
    """Chunk of the rank being explored."""
    confirmed: set[tuple[str, str]] = field(default_factory=set)
    at_chunk: dict[str, int | float] = field(default_factory=dict)
    """Counts at the start of the chunk."""

    def reset(self, before: Progress) -> None:
        """Restore the counts of `before`."""
        vars(self).update(vars(before))

    def mark(self) -> None:
        """Note the counts at the end of a chunk."""
        self.at_chunk = {name: getattr(self, name) for name in COUNTS}


class Exploration:
    """Exploration of one trace; `progress` is valid also after an interrupt."""

    def __init__(
        self, trace: CrashTrace, plan: ExplorationPlan, engines: Sequence[Engine], begun: Progress
    ) -> None:
        self._trace = trace
        self._plan = plan
        self._engines = engines
        self.progress = begun
        self._before = begun.states

    def run(self, judge: Judge, bugs: Bugs) -> None:
        """Judge states until all are judged or the budget is used up."""
        start_s = time.monotonic()
        before_s = self.progress.wall_s
        self.progress.mark()
        for engine in self._engines:
            stacks = self._plan.suspects
            engine.send("E", len(stacks), *(n for s in stacks for n in (len(s), *s)))
        try:
            self.progress.complete = all(
                self._rank(rank, judge, bugs) for rank in range(self.progress.rank, RANKS)
            )
            if self.progress.complete:
                self.progress.ended = ""
        finally:
            self.progress.wall_s = before_s + time.monotonic() - start_s

    def _rank(self, rank: int, judge: Judge, bugs: Bugs) -> bool:
        """Explore the points of a rank; return whether the budget allowed all."""
        if rank != self.progress.rank:
            self.progress.rank, self.progress.chunk = rank, 0
            self.progress.mark()
        running = set(range(len(self._engines)))
        while running:
            worker = self.progress.chunk % len(self._engines)
            if worker in running:
                ended = self._chunk(self._engines[worker], judge, bugs)
                if ended == "X":
                    return False
                if ended == "Z":
                    running.discard(worker)
            self.progress.chunk += 1
            self.progress.mark()
        return True

    def _chunk(self, engine: Engine, judge: Judge, bugs: Bugs) -> str:
        """Process an explorer's frames of one chunk; return the kind of the frame that ends it.

        X: the exploration ends. Z: the explorer has no more chunks of this rank.
        """
        while True:
            frame = engine.receive()
            if frame.kind == "T":
                self._tally(frame)
                if self._states_spent() and len(self._engines) > 1:
                    self.progress.ended = "states"
                    return "X"
            elif frame.kind == "F":
                if self._failure(frame, engine, judge, bugs):
                    self.progress.ended = "first bug"
                    return "X"
            elif frame.kind == "K":
                self.progress.points = frame.number()
            else:
                if frame.kind == "X":
                    self.progress.ended = "states" if frame.number() else "seconds"
                return frame.kind

    def _states_spent(self) -> bool:
        return self.progress.states - self._before >= self._plan.states

    def _tally(self, frame: ReceivedFrame) -> None:
        states, duplicates, points, time_ns = frame.numbers(4)
        self.progress.states += states
        self.progress.duplicates += duplicates
        self.progress.points_explored += points
        self.progress.judge_s += time_ns / 1e9

    def _failure(self, frame: ReceivedFrame, engine: Engine, judge: Judge, bugs: Bugs) -> bool:
        """Handle a refused state; return whether its bug ends the exploration."""
        number, at, record, position = frame.numbers(4)
        done, begun = frame.signed(), frame.signed()
        context = FailureContext(done, begun, position, frame.numbers(frame.number()))
        verdict = CheckerVerdict(frame.text(), frame.text().strip())
        state = {frame.number(): frame.number() for _ in range(frame.number())}
        lines = self._lines(frame)
        stack = self._trace.stack_at(record) if record else ()
        judge.at_failure(engine, state, verdict)
        self._confirm(judge, state, verdict)
        point = FailurePoint(number, POINT_KINDS[at], stack)
        found_states, found_s = self.progress.states, time.monotonic() - self._plan.begun_s
        bug = bugs.add(point, context, lines, state, verdict).bug
        if bug.states == 1:
            bug.found_states, bug.found_s = found_states, found_s
            if self._plan.first_bug is not None and self._plan.first_bug(bug):
                return True
        engine.send("G")
        return False

    def _lines(self, frame: ReceivedFrame) -> dict[int, PendingLine]:
        lines = {}
        for _ in range(frame.number()):
            offset, flushed, stores = frame.numbers(3)
            stacks = [self._trace.stack_at(record) for record in frame.numbers(stores)]
            lines[offset] = PendingLine([b""] * stores, stacks, flushed)
        return lines

    def _confirm(self, judge: Judge, state: dict[int, int], verdict: CheckerVerdict) -> None:
        """Have the plain command confirm each new symptom and output once."""
        if not self._plan.served:
            return
        words = (verdict.symptom, without_numbers(verdict.output))
        if words in self.progress.confirmed:
            return
        self.progress.confirmed.add(words)
        if not judge.plain(state).symptom:
            raise ServedDiffersError

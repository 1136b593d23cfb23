"""Explores a trace: every point, new places of the program first, and each bug once."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from nearfar.crash.bugs import Bugs
from nearfar.crash.judge import Judge
from nearfar.crash.memory import Memory
from nearfar.crash.points import Point, walk
from nearfar.crash.states import states_of
from nearfar.crash.trace import Trace

_NEW = 3
"""A fence is new for so many times: the first append to an empty log is not the second."""


@dataclass
class Explored:
    """What was done."""

    points: int = 0
    explored: set[int] = field(default_factory=set)
    complete: bool = True


def explore(trace: Trace, judge: Judge, bugs: Bugs, *, eadr: bool, seed: int) -> Explored:
    """Judge states until all are judged or the budget is spent."""
    result = Explored()
    for is_first_pass in (True, False):
        memory = Memory(trace.pool_bytes, eadr=eadr)
        met: Counter[tuple[int, ...]] = Counter()
        for point in walk(trace, memory, eadr=eadr):
            result.points = max(result.points, point.number + 1)
            met[point.stack] += 1
            if (met[point.stack] <= _NEW) is not is_first_pass:
                continue
            if judge.exhausted():
                result.complete = False
                continue
            result.explored.add(point.number)
            if not _judge_point(point, memory, judge, bugs, seed):
                result.complete = False
    return result


def _judge_point(point: Point, memory: Memory, judge: Judge, bugs: Bugs, seed: int) -> bool:
    """Judge the states of a point; return whether the budget allowed all of them."""
    lines = memory.candidates()
    # Each point has its own dice, so that the budget of one does not change the next.
    dice = random.Random(f"{seed} {point.number}")
    for state in states_of(lines, dice):
        if judge.exhausted():
            return False
        if not judge.is_new(memory, state):
            continue
        verdict = judge.judge(memory, state)
        if verdict.symptom:
            bugs.add(point, memory, lines, state, verdict)
    return True

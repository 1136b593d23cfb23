"""Live processes that do the same work in turns: blocks of a turn of each, in random order.

A machine's speed drifts by more, within a second, than what is to be told apart. Within a block
all are met by about the same; so each block gives one ratio, and their median is little moved by
those in which the machine changed. What does not drift is luck: which pages a process has got, and
what they are backed by, can be worth several percent. So all of them are started anew several
times, and how much their lives differ is in the intervals.
"""

from __future__ import annotations

import contextlib
import math
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from nearfar.base.estimate import Estimate
from nearfar.base.statistics import median_of_groups
from nearfar.run.sample_budget import process_cpu_ns

TURN_NS = 60_000_000
"""Long beside waking up a process, short beside a machine's drift."""
LIVES = 8
"""Each of four arms is as often started first, second, third and last: the last was up to 9 %
quicker than the first here, in Redis and at going through 128 MiB, whichever arm it was."""
BLOCKS = 24
"""Of each life: with starting, some 50 s in all."""
MOST_S = 6.5
"""After so long a life has no more blocks, where other work holds them up: a minute in all."""
STRETCH = 4
"""Blocks that do the same operation, one after another: about a second."""
LEAST_BLOCKS = 2 * STRETCH
"""Of each life, however long they take."""
SEED = 1


@dataclass(frozen=True)
class Arm:
    """A live process that does as it is told, and nothing else."""

    pid: int
    work: Callable[[str, int], object]
    """Does an operation so many times; returns when it is done."""


Turns = dict[str, list[list[int]]]
"""What each arm's turns took, ns, by life; those of one place are of one block."""


@dataclass
class Blocks:
    """All that was taken."""

    cpu_ns: Turns
    wall_ns: Turns


Start = Callable[[], AbstractContextManager[Arm]]
"""Starts an arm's process, which ends on leaving."""


def take_blocks(arms: Mapping[str, Start], operations: Sequence[str]) -> Blocks:
    """Let all arms do the same operations, with counts that make a turn as long as `TURN_NS`."""
    found = Blocks({name: [] for name in arms}, {name: [] for name in arms})
    dice = random.Random(SEED)
    counts: dict[str, int] = {}
    order = list(arms)
    for life in range(LIVES):
        if life % len(order) == 0:
            dice.shuffle(order)
        order.append(order.pop(0))
        with contextlib.ExitStack() as stack:
            alive = {name: stack.enter_context(arms[name]()) for name in order}
            for operation in operations:
                for arm in alive.values():
                    # Makes what it keeps.
                    arm.work(operation, 1)
                # In each life, since it warms them up too.
                count = _count(alive, operation)
                counts.setdefault(operation, count)
            for turns in (*found.cpu_ns.values(), *found.wall_ns.values()):
                turns.append([])
            _live(alive, operations, counts, dice, found)
    return found


def _live(
    alive: Mapping[str, Arm],
    operations: Sequence[str],
    counts: Mapping[str, int],
    dice: random.Random,
    found: Blocks,
) -> None:
    begun = time.monotonic()
    order = list(alive)
    for block in range(BLOCKS):
        if block >= LEAST_BLOCKS and time.monotonic() - begun > MOST_S:
            return
        operation = operations[block // STRETCH % len(operations)]
        dice.shuffle(order)
        for name in order:
            cpu_ns, wall_ns = _turn(alive[name], operation, counts[operation])
            found.cpu_ns[name][-1].append(cpu_ns)
            found.wall_ns[name][-1].append(wall_ns)


def ratio(taken: Turns, arm: str, others: Sequence[str]) -> Estimate:
    """Return the median over blocks of an arm's time over the geometric mean of the others'."""
    lives = zip(taken[arm], *(taken[other] for other in others), strict=True)
    logs = median_of_groups(
        [
            [
                math.log(own) - statistics.fmean(map(math.log, beside))
                for own, *beside in zip(*life, strict=True)
            ]
            for life in lives
        ]
    )
    return Estimate(math.exp(logs.value), math.exp(logs.low), math.exp(logs.high))


def _turn(arm: Arm, operation: str, count: int) -> tuple[int, int]:
    """Return CPU and wall time, ns."""
    cpu_before, begun = process_cpu_ns(arm.pid), time.perf_counter_ns()
    arm.work(operation, count)
    wall_ns = time.perf_counter_ns() - begun
    return process_cpu_ns(arm.pid) - cpu_before, wall_ns


def _count(arms: Mapping[str, Arm], operation: str) -> int:
    """Find the count for a turn; all arms do the same, so that all have done the same after it."""
    count = 1
    while True:
        took_ns = statistics.median(_turn(arm, operation, count)[0] for arm in arms.values())
        if took_ns >= TURN_NS / 2:
            return max(1, round(count * TURN_NS / took_ns))
        count *= 2

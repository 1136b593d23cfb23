"""Live processes that do the same work in turns: blocks of one turn each, in random order.

Within a second a machine's speed drifts by more than the effect to be measured. Within a block all
processes meet about the same speed, so each block gives a ratio, and the few blocks in which the
machine changed hardly move the median. Differences between processes remain: which pages a process
has, and their backing, can be worth several percent. Therefore all are restarted several times, and
the intervals include the scatter between these lives.
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

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from nearfar.base.estimate import Estimate
from nearfar.base.statistics import RESAMPLES
from nearfar.run.sample_budget import process_cpu_ns

TURN_NS = 60_000_000
"""Long compared with waking a process, short compared with a machine's drift."""
LIVES = 8
"""Each of four arms starts equally often first, second, third and last: on this project's machine
the last was up to 9 % faster than the first, in Redis and in a scan of 128 MiB, for any arm."""
BLOCKS = 24
"""Blocks per life; with starting, all lives take about 50 s."""
MOST_S = 6.5
"""Limit of a life's time under other load: all lives then end within a minute."""
STRETCH = 4
"""Consecutive blocks with the same operation: about a second."""
LEAST_BLOCKS = 2 * STRETCH
"""Minimum number of blocks per life, for any duration."""
SEED = 1


@dataclass(frozen=True)
class Arm:
    """Holds a live process that runs operations on request."""

    pid: int
    work: Callable[[str, int], object]
    """Runs an operation a number of times; returns when it is done."""


Turns = dict[str, list[list[int]]]
"""Times of each arm's turns, ns, by life; equal positions are of the same block."""


@dataclass
class Blocks:
    """Holds all measured blocks."""

    cpu_ns: Turns
    wall_ns: Turns


Start = Callable[[], AbstractContextManager[Arm]]
"""Starts an arm's process, which ends on leaving."""


def take_blocks(arms: Mapping[str, Start], operations: Sequence[str]) -> Blocks:
    """Run the same operations in all arms, with counts that make a turn as long as `TURN_NS`."""
    result = Blocks({name: [] for name in arms}, {name: [] for name in arms})
    rng = random.Random(SEED)
    counts: dict[str, int] = {}
    order = list(arms)
    for life in range(LIVES):
        if life % len(order) == 0:
            rng.shuffle(order)
        order.append(order.pop(0))
        with contextlib.ExitStack() as stack:
            alive = {name: stack.enter_context(arms[name]()) for name in order}
            for operation in operations:
                for arm in alive.values():
                    # Creates the data.
                    arm.work(operation, 1)
                # In each life, because it also warms up.
                count = _count(alive, operation)
                counts.setdefault(operation, count)
            for turns in (*result.cpu_ns.values(), *result.wall_ns.values()):
                turns.append([])
            _live(alive, operations, counts, rng, result)
    return result


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
    """Return the median over blocks of an arm's time over the others' geometric mean."""
    lives = zip(taken[arm], *(taken[other] for other in others), strict=True)
    logs = _median_of_groups(
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
    """Find the count for a turn; all arms do the same, so that their states stay equal."""
    count = 1
    while True:
        took_ns = statistics.median(_turn(arm, operation, count)[0] for arm in arms.values())
        if took_ns >= TURN_NS / 2:
            return max(1, round(count * TURN_NS / took_ns))
        count *= 2


def _median_of_groups(groups: Sequence[Sequence[float]]) -> Estimate:
    """Return the median of all samples with its 95 % interval (percentile bootstrap).

    Samples of a group share a cause, such as their process: whole groups are resampled, then the
    samples of each, so that the interval covers differences between groups. It is rough for few
    groups.
    """
    values = [np.asarray(group, dtype=float) for group in groups]
    middle = float(np.median(np.concatenate(values)))
    if len(values) < 3:
        medians = [float(np.median(group)) for group in values]
        return Estimate(middle, min(medians), max(medians))
    rng = np.random.default_rng(0)

    def median_of(chosen: NDArray[np.int64]) -> np.float64:
        resampled = [rng.choice(values[group], len(values[group])) for group in chosen]
        return np.float64(np.median(np.concatenate(resampled)))

    interval = stats.bootstrap(
        (np.arange(len(values)),),
        median_of,
        n_resamples=RESAMPLES,
        method="percentile",
        rng=rng,
        vectorized=False,
    ).confidence_interval
    return Estimate(middle, min(float(interval.low), middle), max(float(interval.high), middle))

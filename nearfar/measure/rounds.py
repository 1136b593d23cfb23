"""Rounds: every point once, in changing order, until intervals are narrow or time is up."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nearfar.measure.points import Point
from nearfar.measure.sampler import Sample

NARROW = 0.01
"""Relative half-width of a median's interval that is narrow enough: medians of runs minutes apart
differ by more (6 % idle in the authors' trials), so more repetitions would not help."""

NARROW_SHARE = 0.95
"""Share of points that must be narrow; a few are bistable (page colours) and never get there."""

FEWEST = 3
"""Rounds made even if time is up."""

FEWEST_TO_STOP = 15
"""Rounds made before narrowness may end it: an interval of fewer is itself unsure."""


@dataclass(frozen=True)
class Limits:
    """When to stop."""

    deadline_s: float
    """On `clock`."""
    repetitions: int | None = None
    """Exactly so many rounds, whatever the time; None: until narrow or the deadline."""
    clock: Callable[[], float] = time.monotonic


def run_rounds(
    points: Sequence[Point],
    sample: Callable[[Point], Sample],
    limits: Limits,
    progress: Callable[[float, int], None] = lambda _share, _rounds: None,
) -> dict[Point, list[Sample]]:
    """Return each point's samples, one a round; `progress` is told the share of the work done.

    Points are visited in another order each round, so that none always follows the same one.
    """
    dice = random.Random(1)
    samples: dict[Point, list[Sample]] = {point: [] for point in points}
    start = limits.clock()
    rounds = 0
    while not _finished(samples, rounds, limits):
        order = list(points)
        dice.shuffle(order)
        for index, point in enumerate(order):
            if rounds >= FEWEST and _time_is_up(limits):
                return samples  # the order is random, so none is favoured
            samples[point].append(sample(point))
            done = rounds + (index + 1) / len(order)
            progress(_share(done, start, limits), rounds + 1)
        rounds += 1
    return samples


def _time_is_up(limits: Limits) -> bool:
    return limits.repetitions is None and limits.clock() >= limits.deadline_s


def half_width(values: Sequence[float]) -> float:
    """Return the relative half-width of the median's 95 % interval, from order statistics.

    The ranks n/2 -+ 0.98 sqrt(n) hold the median in 95 of 100 cases, whatever the distribution.
    """
    ordered = sorted(values)
    count = len(ordered)
    reach = 0.98 * math.sqrt(count)
    low = ordered[max(math.floor(count / 2 - reach), 0)]
    high = ordered[min(math.ceil(count / 2 + reach), count - 1)]
    middle = ordered[count // 2]
    return (high - low) / 2 / middle if middle > 0 else math.inf


def _finished(samples: dict[Point, list[Sample]], rounds: int, limits: Limits) -> bool:
    if limits.repetitions is not None:
        return rounds >= limits.repetitions
    if rounds < FEWEST:
        return False
    if _time_is_up(limits):
        return True
    if rounds < FEWEST_TO_STOP:
        return False
    widths = [half_width([one.value for one in taken]) for taken in samples.values()]
    return sum(width <= NARROW for width in widths) >= NARROW_SHARE * len(widths)


def _share(rounds: float, start: float, limits: Limits) -> float:
    if limits.repetitions is not None:
        return min(rounds / limits.repetitions, 1.0)
    by_time = (limits.clock() - start) / max(limits.deadline_s - start, 1e-9)
    return min(by_time, rounds / FEWEST, 1.0)

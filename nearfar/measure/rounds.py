"""Rounds: every point once, in changing order, until intervals are narrow or time is up."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from nearfar.samples.point import Sample, SamplePoint

NARROW_HALF_WIDTH = 0.01
"""Relative half-width at which a median's interval is narrow enough: medians of runs minutes apart
differ by more (6 % idle in the authors' trials), so more repetitions do not help."""

NARROW_SHARE = 0.95
"""Share of points that must be narrow; a few are bistable (page colours) and never get there."""

MIN_ROUNDS = 3
"""Rounds made even if time is up."""

MIN_ROUNDS_TO_STOP = 15
"""Rounds before narrow intervals may end a measurement: with fewer, intervals are uncertain."""

Ended = Literal["narrow", "time", "repetitions", "nothing to repeat"]


@dataclass(frozen=True)
class RoundLimits:
    """Limits of time and rounds."""

    deadline_s: float
    """Deadline on `clock`, s."""
    repetitions: int | None = None
    """Exact number of rounds, whatever the time; None: until narrow or the deadline."""
    clock: Callable[[], float] = time.monotonic


@dataclass
class Rounds:
    """All samples, and why sampling ended."""

    samples: dict[SamplePoint, list[Sample]]
    ended: Ended = "time"
    count: int = field(default=0)
    """Number of complete rounds: the fewest samples of a point."""


def run_rounds(
    points: Sequence[SamplePoint],
    sample: Callable[[SamplePoint], Sample],
    limits: RoundLimits,
    progress: Callable[[float, int], None] = lambda _share, _rounds: None,
    *,
    earlier: Mapping[SamplePoint, Sequence[Sample]] | None = None,
    each_round: Callable[[int], None] = lambda _round: None,
) -> Rounds:
    """Return each point's samples, one a round; `progress` is told the share of the work done.

    Points are visited in another order each round, so that none always follows the same one.
    `earlier` samples count as rounds already made; `each_round` is called before each new one.
    """
    dice = random.Random(1)
    samples = {point: list((earlier or {}).get(point, ())) for point in points}
    if not points:
        return Rounds(samples, "nothing to repeat")
    start = limits.clock()
    while True:
        rounds = min(len(taken) for taken in samples.values())
        ended = _finished(samples, rounds, limits)
        if ended is not None:
            return Rounds(samples, ended, rounds)
        each_round(rounds)
        # Complete only the remainder of a round that was cut short.
        order = [point for point in points if len(samples[point]) == rounds]
        dice.shuffle(order)
        for index, point in enumerate(order):
            if rounds >= MIN_ROUNDS and _time_is_up(limits):
                return Rounds(samples, "time", rounds)  # in random order, so none is favoured
            samples[point].append(sample(point))
            done = rounds + (index + 1) / len(order)
            progress(_share(done, start, limits), rounds + 1)


def _time_is_up(limits: RoundLimits) -> bool:
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


def _finished(
    samples: dict[SamplePoint, list[Sample]], rounds: int, limits: RoundLimits
) -> Ended | None:
    if limits.repetitions is not None:
        return "repetitions" if rounds >= limits.repetitions else None
    if rounds < MIN_ROUNDS:
        return None
    if _time_is_up(limits):
        return "time"
    if rounds < MIN_ROUNDS_TO_STOP:
        return None
    widths = [half_width([sample.value for sample in values]) for values in samples.values()]
    narrow = sum(width <= NARROW_HALF_WIDTH for width in widths) >= NARROW_SHARE * len(widths)
    return "narrow" if narrow else None


def _share(rounds: float, start: float, limits: RoundLimits) -> float:
    if limits.repetitions is not None:
        return min(rounds / limits.repetitions, 1.0)
    by_time = (limits.clock() - start) / max(limits.deadline_s - start, 1e-9)
    return min(by_time, rounds / MIN_ROUNDS, 1.0)

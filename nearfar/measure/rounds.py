"""Rounds of all points in changing order, until intervals are narrow or time is up.

Points whose interval is narrow already are visited less often, which leaves the time to the others.
"""

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

MIN_SAMPLES = 6
"""Samples from which a point can be narrow: the range of six holds the median in 97 of 100 cases,
that of five in 94."""

NARROW_EVERY = 4
"""Rounds from one visit of a narrow point to the next: drift of the machine must still show."""

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
    half_width: float = NARROW_HALF_WIDTH
    """Relative half-width at which an interval is narrow."""
    least: int = MIN_ROUNDS_TO_STOP
    """Rounds before narrow intervals may end it."""
    clock: Callable[[], float] = time.monotonic


@dataclass
class Rounds:
    """All samples, and why sampling ended."""

    samples: dict[SamplePoint, list[Sample]]
    ended: Ended = "time"
    count: int = field(default=0)
    """The fewest samples of a point."""


def run_rounds(
    points: Sequence[SamplePoint],
    sample: Callable[[SamplePoint], Sample],
    limits: RoundLimits,
    progress: Callable[[float, int], None] = lambda _share, _rounds: None,
    *,
    earlier: Mapping[SamplePoint, Sequence[Sample]] | None = None,
    each_round: Callable[[int], None] = lambda _round: None,
) -> Rounds:
    """Return each point's samples, at most one a round; `progress` is told the share of work done.

    Points are visited in another order each round, so that none always follows the same one.
    `earlier` samples count as rounds already made; `each_round` is called before each new one.
    """
    dice = random.Random(1)
    samples = {point: list((earlier or {}).get(point, ())) for point in points}
    if not points:
        return Rounds(samples, "nothing to repeat")
    start = limits.clock()
    rounds = max(len(taken) for taken in samples.values())
    while True:
        fewest = min(len(taken) for taken in samples.values())
        wide = {point for point, taken in samples.items() if not _is_narrow(taken, limits)}
        ended = _finished(fewest, rounds, len(wide) / len(points), limits)
        if ended is not None:
            return Rounds(samples, ended, fewest)
        if fewest < MIN_SAMPLES or limits.repetitions is not None:
            # Visit only the points with the fewest samples: an earlier round was cut short.
            rounds = fewest
            order = [point for point in points if len(samples[point]) == fewest]
        else:
            every = rounds % NARROW_EVERY == 0 or not wide
            order = [point for point in points if every or point in wide]
        each_round(rounds)
        dice.shuffle(order)
        for index, point in enumerate(order):
            if fewest >= MIN_ROUNDS and _time_is_up(limits):
                return Rounds(samples, "time", fewest)  # the order is random: no point is favoured
            samples[point].append(sample(point))
            done = rounds + (index + 1) / len(order)
            progress(_share(done, start, limits), rounds + 1)
        rounds += 1


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


def _is_narrow(samples: Sequence[Sample], limits: RoundLimits) -> bool:
    if len(samples) < MIN_SAMPLES:
        return False
    return half_width([sample.value for sample in samples]) <= limits.half_width


def _finished(fewest: int, rounds: int, wide_share: float, limits: RoundLimits) -> Ended | None:
    if limits.repetitions is not None:
        return "repetitions" if fewest >= limits.repetitions else None
    if fewest < MIN_ROUNDS:
        return None
    if _time_is_up(limits):
        return "time"
    return "narrow" if rounds >= limits.least and wide_share <= 1 - NARROW_SHARE else None


def _share(rounds: float, start: float, limits: RoundLimits) -> float:
    if limits.repetitions is not None:
        return min(rounds / limits.repetitions, 1.0)
    by_time = (limits.clock() - start) / max(limits.deadline_s - start, 1e-9)
    return min(by_time, rounds / MIN_ROUNDS, 1.0)

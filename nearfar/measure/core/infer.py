"""Decisions on a core's times: pure functions from samples to figures.

Neighbours only add time, so the 10th percentile of short trials shows the core alone. Intervals are
95 % of a bootstrap over trials.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nearfar.documents.core import CoreFigure
from nearfar.measure.core.subject import Array

PERCENTILE = 10.0
RESAMPLES = 200

ANOTHER_MISS = 0.5
"""Least rise at a knee, in misses: closer to one additional miss than to none."""

MIN_POINTS = 5
"""Fewest points in which a break is looked for."""

EVER, ALWAYS = 0.75, 0.25
"""Shares of that rise below which a round still overlaps sometimes, and always."""


@dataclass(frozen=True)
class Knee:
    """Largest counts whose round still overlaps."""

    ever: float
    """Largest count that overlaps in some rounds: the size for the best alignment."""
    always: float
    """In nearly all rounds."""


def low(samples: Array) -> Array:
    """Return the low percentile over trials, the last axis."""
    return np.asarray(np.percentile(samples, PERCENTILE, axis=-1))


def resampled(
    samples: Array,
    statistic: Callable[[Array], float | None],
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> list[float]:
    """Return the statistic of bootstrap resamples over trials, without those that have none."""
    dice = np.random.default_rng(seed)
    trials = samples.shape[-1]
    values = (statistic(samples[..., dice.integers(0, trials, trials)]) for _ in range(resamples))
    return [value for value in values if value is not None]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the middle 95 %."""
    ends = np.percentile(np.asarray(values), [2.5, 97.5])
    return float(ends[0]), float(ends[1])


def figure_of(
    value: float, ends: tuple[float, float], step: float = 0.0, note: str = ""
) -> CoreFigure:
    """Return a measured figure, its interval no narrower than `step` each way."""
    return CoreFigure(
        value=value,
        low=min(ends[0], value - step),
        high=max(ends[1], value + step),
        how="measured",
        source="nearfar",
        note=note,
    )


def measured(samples: Array, statistic: Callable[[Array], float]) -> CoreFigure:
    """Return a statistic of samples with its interval."""
    return figure_of(statistic(samples), interval(resampled(samples, statistic)))


def first_break(counts: Sequence[int], curve: Array) -> int | None:
    """Return the first index at which the curve jumps to a higher line; None: it does not.

    One line is fitted on each side of every index, and the index with the least sum of squares
    wins. The search then repeats on the points to its left, as long as the jump is at least half of
    a miss. The shortest rounds take one miss.
    """
    x, y = np.asarray(counts, dtype=float), np.asarray(curve)
    miss, first = one_miss(curve), None
    while len(x) > MIN_POINTS:
        index, before, after = _best_break(x, y)
        if after <= before + ANOTHER_MISS * miss:
            break
        first = index
        x, y = x[:index], y[:index]
    return first


def one_miss(curve: Array) -> float:
    """Return the time of one miss, in the curve's unit: its level at few fillers."""
    return float(np.median(curve[:MIN_POINTS]))


def _best_break(x: Array, y: Array) -> tuple[int, float, float]:
    best, errors = (0, 0.0, 0.0), np.inf
    for index in range(2, len(x) - 2):
        squares, ends = 0.0, []
        for part in (slice(0, index), slice(index, None)):
            line = np.polyfit(x[part], y[part], 1)
            squares += float(np.sum((np.polyval(line, x[part]) - y[part]) ** 2))
            ends.append(float(np.polyval(line, x[index])))
        if squares < errors:
            errors, best = squares, (index, ends[0], ends[1])
    return best


def knee_of(counts: Sequence[int], curve: Array, miss: float) -> Knee | None:
    """Return the knee of a fine curve; None: the curve rises by less than half a miss."""
    third = max(len(counts) // 3, 1)
    before, after = float(np.median(curve[:third])), float(np.median(curve[-third:]))
    if after <= before + ANOTHER_MISS * miss:
        return None
    ends = [
        float(counts[int(np.max(np.nonzero(curve < before + share * (after - before))))])
        for share in (EVER, ALWAYS)
    ]
    return Knee(ends[0], min(ends))


def broken_stick(counts: Sequence[int], curve: Array) -> float | None:
    """Return the count at which a flat line turns into a rising one; None: it does not.

    Knees half a count apart are tried, each with a continuous line of two pieces; the least sum of
    squares wins. A full buffer makes the second piece rise by the level at the knee over the knee's
    count; the fitted piece must rise at least half as steeply.
    """
    x, y = np.asarray(counts, dtype=float), np.asarray(curve)
    knees = np.arange(x[0] + 2.0, x[-1] - 2.0, 0.5)
    if not knees.size:
        return None
    # What a line leaves of each bend and of the times: the bend's factor is that of the remainders.
    line = np.stack([np.ones_like(x), x], axis=1)
    bends = np.maximum(0.0, x[:, None] - knees)
    left_of_bends, left_of_times = (
        each - line @ np.linalg.lstsq(line, each, rcond=None)[0] for each in (bends, y)
    )
    factors = left_of_times @ left_of_bends / np.sum(left_of_bends**2, axis=0)
    squares = np.sum((left_of_times[:, None] - left_of_bends * factors) ** 2, axis=0)
    best = int(np.argmin(squares))
    knee, bend = float(knees[best]), float(factors[best])
    constant, slope = np.linalg.lstsq(line, y - bends[:, best] * bend, rcond=None)[0]
    rises = slope + bend > 0.5 * (constant + slope * knee) / knee and bend > slope
    return knee if rises else None

"""Periods: the fixed distance at which events recur, even with a few strays among them.

At a period most events have another event, and chance does not explain how many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TOLERANCE = 0.03
"""Relative deviation from a period that is allowed: real wear counters are not exact."""

CANDIDATE_STEP = 0.25
"""Relative distance of candidate periods, in tolerances."""

MIN_EVENTS = 5
"""Events required: they give four distances, and fewer show no period."""

MIN_SHARE = 0.5
"""Share of events that must have a successor one period on."""

NEAR_BEST_SHARE = 0.75
"""Share of the best score that a shorter period must reach, because multiples of a period have
similar scores."""

SUCCESSORS = 6
"""Successors of an event that are tested: at most five strays lie between two periodic events."""

MAX_CHANCE = 1e-4
"""Probability over all tried periods that random events score as well."""

EVENTS_PER_PERIOD = (0.6, 1.5)
"""Smallest and largest ratio of events to the periods within the observed time."""

COMB_SUCCESSORS = 3
"""Successors of an event that a comb compares it with: two strays may lie between two teeth."""

MAX_TEETH = 6
"""Periods from one event to the next up to which they count: jitter adds up from tooth to tooth."""

COMB_STEP = 0.005
"""Ratio, less one, of a tried period to the next: over `MAX_TEETH` periods it is 3 % of a turn."""

MAX_COMB_EVENTS = 800
"""Events that a comb uses: they are enough for any period, and quick."""

MIN_COHERENCE = 0.5
"""Mean cosine of the distances' phases: 1 for whole periods, about 0 by chance."""

NEAR_BEST_COHERENCE = 0.85
"""Share of the best coherence that a longer period must reach: fractions of a period have the
same."""

COMB_TOLERANCE = 0.1
"""Deviation from whole periods, in periods: three deviations of the time of a long stall."""


@dataclass(frozen=True)
class Period:
    """A period in the unit of the positions, and which events keep to it."""

    value: float
    share: float
    """Share of events that have a successor one period later."""
    members: NDArray[np.intp]
    """Indices of events that have such a successor or are one."""
    distances: NDArray[np.float64]
    """The distances that count as one period."""


def find_period(positions: NDArray[np.float64]) -> Period | None:
    """Return the smallest distance at which events (ascending) recur; None: they do not."""
    if len(positions) < MIN_EVENTS:
        return None
    ahead = _next_distances(positions)
    candidates = np.unique(ahead[np.isfinite(ahead) & (ahead > 0)])
    # Candidates closer than a fraction of the tolerance have the same share.
    steps = np.round(np.log(candidates) / (CANDIDATE_STEP * TOLERANCE))
    candidates = candidates[np.unique(steps, return_index=True)[1]]
    shares = _shares(ahead, positions, candidates)
    if len(shares) == 0 or shares.max() < MIN_SHARE:
        return None
    period = float(candidates[int(np.argmax(shares >= NEAR_BEST_SHARE * shares.max()))])
    for _ in range(3):
        near = np.abs(ahead / period - 1) <= TOLERANCE
        period = float(np.median(ahead[near]))
    near = np.abs(ahead / period - 1) <= TOLERANCE
    share = float(_shares(ahead, positions, np.array([period]))[0])
    span = positions[-1] - positions[0]
    kept = np.unique(np.concatenate([np.nonzero(near)[0], _successors(near)]))
    periods = span / period
    if not EVENTS_PER_PERIOD[0] * periods <= len(kept) <= EVENTS_PER_PERIOD[1] * (periods + 1):
        return None
    if share < MIN_SHARE or not _beyond_chance(positions, period, share, len(candidates)):
        return None
    return Period(period, share, kept, ahead[near])


@dataclass(frozen=True)
class Comb:
    """A period at whose multiples events follow each other; many may be missing."""

    period: float
    """In the unit of the positions."""
    error: float
    """Standard error of the period, in the same unit."""
    steps: NDArray[np.intp]
    """Indices of events whose successor comes whole periods later."""
    teeth: NDArray[np.float64]
    """These numbers of periods."""


def find_comb(positions: NDArray[np.float64], low: float, high: float) -> Comb | None:
    """Return the largest period, `low` to `high`, at whose multiples events (ascending) follow.

    Only neighbouring events are compared, since errors of measured times add up from event to
    event. None: there is no such period.
    """
    positions = positions[:MAX_COMB_EVENTS]
    if len(positions) < MIN_EVENTS or not 0 < low < high:
        return None
    ahead = _next_distances(positions)[:, :COMB_SUCCESSORS]
    ahead = ahead[ahead <= MAX_TEETH * high]
    if len(ahead) < MIN_EVENTS:
        return None
    tried = np.exp(np.arange(np.log(low), np.log(high) + COMB_STEP, COMB_STEP))
    together = np.array([np.cos(2 * np.pi / period * ahead).mean() for period in tried])
    if together.max() < MIN_COHERENCE:
        return None
    near_best = np.nonzero(together >= NEAR_BEST_COHERENCE * together.max())[0]
    # The near-best periods around the largest of them are one peak.
    first = near_best[np.r_[True, np.diff(near_best) > 1]][-1]
    return _refined(positions, float(tried[first + int(np.argmax(together[first:]))]))


def _refined(positions: NDArray[np.float64], period: float) -> Comb | None:
    """Return the comb near `period`: the time of all steps over the periods that they take."""
    distances = np.diff(positions)
    for _ in range(4):
        teeth = np.round(distances / period)
        whole = (teeth >= 1) & (teeth <= MAX_TEETH)
        whole &= np.abs(distances - teeth * period) <= COMB_TOLERANCE * period
        if whole.sum() < max(MIN_EVENTS - 1, MIN_SHARE * len(distances)):
            return None
        period = float(distances[whole].sum() / teeth[whole].sum())
    steps = np.nonzero(whole)[0]
    deviation = float(np.std(distances[steps] - teeth[steps] * period))
    error = deviation * np.sqrt(len(steps)) / float(teeth[steps].sum())
    return Comb(period, float(error), steps, teeth[steps])


def _next_distances(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, by row, an event's distances to the next `SUCCESSORS` events; inf beyond the last."""
    distances = np.full((len(positions), SUCCESSORS), np.inf)
    for step in range(1, min(SUCCESSORS, len(positions) - 1) + 1):
        distances[:-step, step - 1] = positions[step:] - positions[:-step]
    return distances


def _shares(
    ahead: NDArray[np.float64], positions: NDArray[np.float64], periods: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return, for each of `periods` (ascending), the share of events with another one period on.

    `ahead` are distances from `_next_distances`.
    """
    # Events less than a period before the last one cannot have a successor.
    last = positions[-1] - periods * (1 - TOLERANCE)
    counted = np.searchsorted(positions, last, "right")
    # Each distance is near a range of periods, and the ranges of one event may overlap.
    begin = np.searchsorted(periods, ahead / (1 + TOLERANCE), "left")
    end = np.searchsorted(periods, ahead / (1 - TOLERANCE), "right")
    possible = np.searchsorted(periods, (positions[-1] - positions) / (1 - TOLERANCE), "right")
    end = np.minimum(end, possible[:, None])
    begin[:, 1:] = np.maximum(begin[:, 1:], end[:, :-1])
    steps = np.zeros(len(periods) + 1)
    some = begin < end
    np.add.at(steps, begin[some], 1)
    np.add.at(steps, end[some], -1)
    enough = counted >= MIN_EVENTS - 1
    return np.where(enough, np.cumsum(steps[:-1]) / np.maximum(counted, 1), 0.0)


def _successors(near: NDArray[np.bool_]) -> NDArray[np.intp]:
    rows, columns = np.nonzero(near)
    return rows + columns + 1


def _beyond_chance(positions: NDArray[np.float64], period: float, share: float, tried: int) -> bool:
    """Return whether random events would hardly ever keep to a period so well."""
    from scipy.stats import binom

    span = positions[-1] - positions[0]
    expected = 2 * TOLERANCE * period * len(positions) / span
    can = int((positions <= positions[-1] - period * (1 - TOLERANCE)).sum())
    by_chance = binom.sf(round(share * can) - 1, can, 1 - np.exp(-expected))
    return bool(by_chance * max(tried, 1) < MAX_CHANCE)

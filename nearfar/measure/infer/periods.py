"""Periods: the fixed distance at which events recur, even with a few strays among them.

At a period most events have another event, and chance does not explain how many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TOLERANCE = 0.03
"""Relative deviation from a period that is allowed: real wear counters are not exact."""

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


MIN_COHERENCE = 0.9
"""Length of the mean of all phases as unit vectors: 1 for one phase, about 1/sqrt(n) by chance."""

MAX_FREQUENCIES = 200_000
"""Frequencies tried at most: more take seconds, and only very many events need them."""


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
    if len(candidates) > 400:
        # A limit on computing time; candidates are dense where events recur.
        candidates = candidates[:: len(candidates) // 400 + 1]
    shares = np.array([_share(ahead, positions, candidate) for candidate in candidates])
    if len(shares) == 0 or shares.max() < MIN_SHARE:
        return None
    period = float(candidates[int(np.argmax(shares >= NEAR_BEST_SHARE * shares.max()))])
    for _ in range(3):
        near = np.abs(ahead / period - 1) <= TOLERANCE
        period = float(np.median(ahead[near]))
    near = np.abs(ahead / period - 1) <= TOLERANCE
    share = _share(ahead, positions, period)
    span = positions[-1] - positions[0]
    kept = np.unique(np.concatenate([np.nonzero(near)[0], _successors(near)]))
    periods = span / period
    if not EVENTS_PER_PERIOD[0] * periods <= len(kept) <= EVENTS_PER_PERIOD[1] * (periods + 1):
        return None
    if share < MIN_SHARE or not _beyond_chance(positions, period, share, len(candidates)):
        return None
    return Period(period, share, kept, ahead[near])


def find_comb(positions: NDArray[np.float64], low: float, high: float) -> float | None:
    """Return the period, `low` to `high`, at whose multiples all events lie; many may be missing.

    At the true period all events have the same phase.
    """
    if len(positions) < MIN_EVENTS:
        return None
    span = float(positions[-1] - positions[0])
    # Neighbouring frequencies differ by an eighth of a turn over the whole span.
    tried = np.arange(1 / high, 1 / low, 1 / (8 * span))
    if not 0 < len(tried) <= MAX_FREQUENCIES:
        return None
    together = np.array(
        [abs(np.exp(2j * np.pi * frequency * positions).mean()) for frequency in tried]
    )
    best = int(np.argmax(together))
    return float(1 / tried[best]) if together[best] >= MIN_COHERENCE else None


def _next_distances(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, by row, an event's distances to the next `SUCCESSORS` events; inf beyond the last."""
    distances = np.full((len(positions), SUCCESSORS), np.inf)
    for step in range(1, min(SUCCESSORS, len(positions) - 1) + 1):
        distances[:-step, step - 1] = positions[step:] - positions[:-step]
    return distances


def _share(ahead: NDArray[np.float64], positions: NDArray[np.float64], period: float) -> float:
    """Return the share of events that have another event one `period` later.

    `ahead` are distances from `_next_distances`.
    """
    # Events less than a period before the last one cannot have a successor.
    counted = positions <= positions[-1] - period * (1 - TOLERANCE)
    if counted.sum() < MIN_EVENTS - 1:
        return 0.0
    return float((np.abs(ahead[counted] / period - 1) <= TOLERANCE).any(axis=1).mean())


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

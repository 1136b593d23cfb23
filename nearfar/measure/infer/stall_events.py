"""Which accesses of a long row were stalled, by a threshold that the row's own noise gives.

Times of undisturbed accesses lie close together; stalls lie apart. The threshold is a gap in the
sorted times, wider than any gap that noise alone leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nearfar.measure.infer.periods import Period, find_period

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_STALLED = 0.1
"""Share of accesses: what hits more of them is how the memory is, not a stall."""

LEAST_RATIO = 1.5
"""A stalled access takes so many times the slowest of the others: below, it is noise's tail."""

GAPS_TRIED = 6
"""Widest gaps of which each may be the threshold: beyond strays there may be real stalls."""

ALIKE = 1.4
"""Stalls of one cause are so many times as long as each other, at most: those published are."""


MOST_KINDS = 3
"""Wear, refresh, and one of the host's."""


@dataclass(frozen=True)
class Stalls:
    """Stalled accesses that recur."""

    indices: NDArray[np.intp]
    """In the row of accesses."""
    lengths_ns: NDArray[np.float64]
    """Beyond the usual access."""
    threshold_ns: float
    by_writes: Period | None
    """Distance counted in accesses; None: none fixed."""
    by_time: Period | None
    """Distance in ns."""


def thresholds(each_ns: NDArray[np.float64]) -> list[float]:
    """Return times that may part stalled accesses from others, most promising first."""
    ordered = np.sort(each_ns[each_ns > 0])
    first = max(int(len(ordered) * (1 - MOST_STALLED)), 1)
    if len(ordered) - first < 2:
        return []
    ratios = ordered[first:] / ordered[first - 1 : -1]
    widest = np.argsort(ratios)[::-1][:GAPS_TRIED]
    return [
        float(np.sqrt(ordered[first + at] * ordered[first + at - 1]))
        for at in widest
        if ratios[at] >= LEAST_RATIO
    ]


def find_kinds(each_ns: NDArray[np.float64], rest_ns: float) -> list[Stalls]:
    """Return every kind of stall that recurs, the one that recurs best first."""
    found: list[Stalls] = []
    left = each_ns.copy()
    while len(found) < MOST_KINDS:
        kind = find_stalls(left, rest_ns, each_ns)
        if kind is None:
            break
        found.append(kind)
        left[kind.indices] = np.median(each_ns)
    return found


def find_stalls(
    each_ns: NDArray[np.float64], rest_ns: float, lasted_ns: NDArray[np.float64] | None = None
) -> Stalls | None:
    """Return the stalls that recur among accesses in order; None: there are none.

    `rest_ns` passes between two accesses; `lasted_ns` is what they lasted, where `each_ns` has
    stalls of other kinds taken out.
    """
    ends_ns = np.cumsum((each_ns if lasted_ns is None else lasted_ns) + rest_ns)
    usual = float(np.median(each_ns))
    best: Stalls | None = None
    for threshold in thresholds(each_ns):
        indices = np.nonzero(each_ns > threshold)[0]
        found = _recurring(each_ns, ends_ns, indices, usual, threshold)
        if found is not None and (best is None or _score(found) > _score(best)):
            best = found
    return best


def _recurring(
    each_ns: NDArray[np.float64],
    ends_ns: NDArray[np.float64],
    indices: NDArray[np.intp],
    usual: float,
    threshold: float,
) -> Stalls | None:
    lengths = each_ns[indices] - usual
    # All of them, or without strays of other lengths.
    for kept in (np.arange(len(indices)), _alike(lengths)):
        by_writes, by_time = _periods(ends_ns, indices[kept])
        chosen = by_writes or by_time
        if chosen is not None:
            members = kept[chosen.members]
            return Stalls(indices[members], lengths[members], threshold, by_writes, by_time)
    return None


def _alike(lengths: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return indices of the largest group of lengths within a factor `ALIKE`, ascending."""
    order = np.argsort(lengths)
    ends = np.searchsorted(lengths[order], lengths[order] * ALIKE, side="right")
    start = int(np.argmax(ends - np.arange(len(order))))
    return np.sort(order[start : ends[start]])


def _periods(
    ends_ns: NDArray[np.float64], indices: NDArray[np.intp]
) -> tuple[Period | None, Period | None]:
    return find_period(indices.astype(float)), find_period(ends_ns[indices])


def _score(stalls: Stalls) -> float:
    shares = [one.share for one in (stalls.by_writes, stalls.by_time) if one is not None]
    return max(shares)

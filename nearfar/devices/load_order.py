"""Order of a curve's points by load, found from the points alone.

Files list rows by rising load, by falling load (Mess 1.0, MLC) or in no order. Past saturation a
curve may fold back: the same bandwidth at a higher latency. The order here depends on the set of
points only, so the same curve in any order of rows gives the same device.
"""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.devices.oddities import Point

MIN_FOLD_SHARE = 0.5
"""Bandwidth over the best from which a point of higher latency lies past saturation. Below, it is a
slow point of the rising part: noise at idle."""


def by_load(points: Sequence[Point]) -> list[Point]:
    """Return `points`, (bandwidth GB/s, latency ns), by rising load.

    Points up to saturation are sorted by bandwidth, so that dips of the latency stay visible.
    Points past saturation are sorted by latency.
    """
    if not points:
        return []
    best, best_ns = max(points, key=lambda point: (point[0], -point[1]))
    rising: list[Point] = []
    fold: list[Point] = []
    for point in points:
        saturated = point[1] > best_ns and point[0] >= MIN_FOLD_SHARE * best > 0
        (fold if saturated else rising).append(point)
    return [*sorted(rising), *sorted(fold, key=lambda point: (point[1], -point[0]))]


def rising_load(points: Sequence[Point]) -> list[Point]:
    """Return `points` unchanged if their first point has the lower load, else sorted by load."""
    listed = list(points)
    return by_load(listed) if listed and listed[0][0] > listed[-1][0] and _falls(listed) else listed


def _falls(points: Sequence[Point]) -> bool:
    """Return whether the first half of `points` has more bandwidth than the second half."""
    half = len(points) // 2
    loads = [bandwidth for bandwidth, _ in points]
    return sum(loads[:half]) > sum(loads[len(loads) - half :])

"""Selection of a curve's points such that straight lines between them stay near the others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from nearfar.devices.oddities import Point, odd_indices

MAX_POINTS = 30
"""Points that a person can read in a TOML file. Latency of the published curves of 41 to 85 points
differs by less than 1 % in between."""


def thin(points: Sequence[Point], max_points: int = MAX_POINTS) -> list[Point]:
    """Return at most about `max_points` of `points`, in their order.

    Ends, extremes and the points of oddities are kept, even beyond `max_points`. Then the point
    farthest from the straight lines is added repeatedly.
    """
    if len(points) <= max_points:
        return list(points)
    bandwidths = [bandwidth for bandwidth, _ in points]
    latencies = [latency for _, latency in points]
    kept = {
        0,
        len(points) - 1,
        bandwidths.index(max(bandwidths)),
        latencies.index(min(latencies)),
        latencies.index(max(latencies)),
    } | odd_indices(points)
    while len(kept) < max_points:
        kept.add(_worst(points, sorted(kept)))
    return [points[index] for index in sorted(kept)]


def _worst(points: Sequence[Point], kept: list[int]) -> int:
    """Return the index of the point farthest from the lines between those in `kept`."""
    width = max(abs(bandwidth) for bandwidth, _ in points) or 1.0
    worst, distance = -1, -1.0
    for left, right in itertools.pairwise(kept):
        for index in range(left + 1, right):
            # Bandwidth over its range and latency by ratio, so both ends of a curve count.
            candidate = _distance(
                _scaled(points[left], width),
                _scaled(points[right], width),
                _scaled(points[index], width),
            )
            if candidate > distance:
                worst, distance = index, candidate
    return worst


def _scaled(point: Point, width: float) -> Point:
    return point[0] / width, math.log(point[1])


def _distance(left: Point, right: Point, point: Point) -> float:
    """Return the distance of `point` from the segment `left`-`right`."""
    along = right[0] - left[0], right[1] - left[1]
    length = along[0] ** 2 + along[1] ** 2
    share = 0.0
    if length > 0:
        share = ((point[0] - left[0]) * along[0] + (point[1] - left[1]) * along[1]) / length
        share = min(1.0, max(0.0, share))
    return math.dist(point, (left[0] + share * along[0], left[1] + share * along[1]))

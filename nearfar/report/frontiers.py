"""A plan's frontier, thinned for the page where it has more points than a screen can show."""

from __future__ import annotations

from nearfar.base.statistics import Estimate
from nearfar.documents import Plan
from nearfar.documents.plan import FrontierPoint
from nearfar.report.data import Frontier, Triple

MOST_POINTS = 400
"""Points kept: the slider has 200 stops and the chart about 700 pixels; a page of 5 memories and
4 phases then spends less than 3 MB on its frontiers."""


def triple(estimate: Estimate) -> Triple:
    """Return value, low, high."""
    return (estimate.value, estimate.low, estimate.high)


def frontier(plan: Plan, position: dict[int, int]) -> Frontier:
    """Return the frontier of `plan`; `position` maps an object's id to its place in the data."""
    points = plan.frontier
    kept = thin(points, MOST_POINTS)
    return Frontier(
        memory=plan.far,
        phase=plan.phase,
        footprint_bytes=plan.footprint_bytes,
        order=[position[p.object_added] for p in points if p.object_added is not None],
        steps=_steps(points, kept),
        near_bytes=[points[i].near_bytes for i in kept],
        time_ns=[triple(points[i].time_ns) for i in kept],
        slowdown=[triple(points[i].slowdown) for i in kept],
        cost_relative=[points[i].cost_relative for i in kept],
        points_before_thinning=len(points),
    )


def _steps(points: list[FrontierPoint], kept: list[int]) -> list[int]:
    """How many objects are near at each kept point."""
    near, steps = 0, []
    wanted = set(kept)
    for i, point in enumerate(points):
        near += point.object_added is not None
        if i in wanted:
            steps.append(near)
    return steps


def thin(points: list[FrontierPoint], most: int) -> list[int]:
    """Return the indices of at most `most` points that keep the curve's shape; ends included.

    Half of them evenly along bytes, half evenly along time, so that neither a flat tail nor a
    steep start loses its steps. Points are kept or dropped, never averaged: each is exact.
    """
    if len(points) <= most:
        return list(range(len(points)))
    kept = {0, len(points) - 1}
    for values in (
        [float(point.near_bytes) for point in points],
        [-point.time_ns.value for point in points],
    ):
        first, last = values[0], values[-1]
        share, stops = (last - first) / (most // 2), 1
        for i, value in enumerate(values):
            if share > 0 and value >= first + share * stops:
                kept.add(i)
                stops = int((value - first) / share) + 1
    return sorted(kept)

"""Thinning drops points and never changes one; the ends and the shape stay."""

from __future__ import annotations

import itertools

import made_up
import pytest
import samples

from nearfar.base.statistics import Estimate
from nearfar.documents.plan import FrontierPoint
from nearfar.report.frontiers import MOST_POINTS, frontier, thin


def points(count: int) -> list[FrontierPoint]:
    """Steep start, flat tail: nine tenths of the time falls in the first hundredth."""
    return [
        FrontierPoint(
            near_bytes=i * i,
            object_added=None if i == 0 else i - 1,
            time_ns=Estimate(t := 1000.0 / (1 + i / 10), t, t),
            slowdown=Estimate(t, t, t),
            cost_relative=0.2,
        )
        for i in range(count)
    ]


def test_short_frontiers_stay_whole() -> None:
    assert thin(points(400), 400) == list(range(400))


@pytest.mark.parametrize("count", [401, 3000, 10_000])
def test_long_frontiers_keep_ends_and_shape(count: int) -> None:
    all_points = points(count)
    kept = thin(all_points, 400)
    assert kept[0] == 0
    assert kept[-1] == count - 1
    assert kept == sorted(set(kept))
    assert len(kept) <= 402
    whole_bytes = all_points[-1].near_bytes
    whole_time = all_points[0].time_ns.value - all_points[-1].time_ns.value
    for a, b in itertools.pairwise(kept):
        step_bytes = all_points[b].near_bytes - all_points[a].near_bytes
        step_time = all_points[a].time_ns.value - all_points[b].time_ns.value
        if b > a + 1:
            assert step_bytes <= 0.011 * whole_bytes
            assert step_time <= 0.011 * whole_time


def test_points_are_the_plans_own() -> None:
    profile = samples.workload(objects=900)
    near, fars = made_up.devices()
    phase = made_up.prediction(profile, near, fars).devices[0].total
    plan = made_up.plan(profile, near.name, fars[0].name, phase, 0)
    curve = frontier(plan, {n: n for n in range(900)})
    assert curve.points_before_thinning == 901
    assert len(curve.steps) <= MOST_POINTS + 2
    for i, steps in enumerate(curve.steps):
        point = plan.frontier[steps]
        assert curve.near_bytes[i] == point.near_bytes
        assert curve.time_ns[i][0] == point.time_ns.value
        assert curve.slowdown[i] == (
            point.slowdown.value,
            point.slowdown.low,
            point.slowdown.high,
        )
        sizes = [profile.objects[n].size_bytes for n in curve.order[:steps]]
        assert sum(sizes) == point.near_bytes

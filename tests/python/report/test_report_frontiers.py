"""Thinning of frontiers drops points without changing them; the ends and the shape stay."""

from __future__ import annotations

import itertools

import made_up
import pytest
import samples
from hypothesis import given
from hypothesis import strategies as st

from nearfar.base.estimate import Estimate
from nearfar.documents import Plan, WorkloadProfile
from nearfar.documents.plan import FrontierPoint, Part
from nearfar.options.report import ReportOptions
from nearfar.report.api import report
from nearfar.report.data import TOTAL
from nearfar.report.frontiers import MAX_POINTS, SliderStop, frontier, runs, thin
from nearfar.report.prepare import prepare


def points(count: int) -> list[FrontierPoint]:
    """Return a steep start and a flat tail: nine tenths of the gain in the first hundredth."""
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


def test_short_frontiers_are_complete() -> None:
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


def made(objects: int, budget_bytes: int = 0) -> tuple[WorkloadProfile, Plan]:
    profile = samples.workload(objects=objects)
    near, fars = made_up.devices()
    phase = made_up.prediction(profile, near, fars).devices[0].total
    return profile, made_up.plan(profile, near.name, fars[0].name, phase, budget_bytes)


def test_points_are_those_of_the_plan() -> None:
    profile, plan = made(900)
    curve = frontier(plan, {n: n for n in range(900)}, [], [])
    assert curve.points_before_thinning == 901
    assert len(curve.near) <= MAX_POINTS + 2
    assert curve.near[0] == []
    for i, near in enumerate(curve.near[1:], start=1):
        ((start, steps),) = near
        assert start == 0
        point = plan.frontier[steps]
        assert curve.budget_bytes[i] == curve.near_bytes[i] == point.near_bytes
        assert curve.time_ns[i][0] == point.time_ns.value
        assert curve.slowdown[i] == (
            point.slowdown.value,
            point.slowdown.low,
            point.slowdown.high,
        )
        sizes = [profile.objects[n].size_bytes for n in curve.order[:steps]]
        assert sum(sizes) == point.near_bytes


def stop(budget_bytes: int, time_ns: float, near: list[int]) -> SliderStop:
    single = Estimate(time_ns, time_ns, time_ns)
    return SliderStop(
        budget_bytes=budget_bytes,
        near=near,
        near_bytes=budget_bytes,
        time_ns=single,
        slowdown=single,
        cost_relative=0.5,
    )


def test_the_better_plan_stays_for_larger_budgets() -> None:
    _, plan = made(4)
    position = {n: n for n in range(4)}
    last = plan.frontier[-1]
    better = stop(last.near_bytes - 1, last.time_ns.value / 2, [0, 2, 3])
    worse = stop(1, plan.frontier[0].time_ns.value * 2, [1])
    curve = frontier(plan, position, [], [worse, better])
    assert curve.time_ns[-1][0] == better.time_ns.value
    assert curve.budget_bytes[-1] == better.budget_bytes
    near = {n for a, b in curve.near[-1] for n in curve.order[a:b]}
    assert near == {0, 2, 3}
    times = [time for time, _, _ in curve.time_ns]
    assert times == sorted(times, reverse=True)
    assert 1 not in curve.budget_bytes


def test_a_plan_with_parts_is_on_the_line_with_its_shares() -> None:
    profile, plan = made(4, budget_bytes=10)
    position = {n: n for n in range(4)}
    split = plan.placements[1]
    split.parts = [Part(memory="near", share=0.25), Part(memory=plan.far, share=0.75)]
    near, fars = made_up.devices()
    prediction = made_up.prediction(profile, near, fars)
    (choice,) = prepare(profile, near, fars, prediction, [("50 %", plan)]).choices
    assert choice.shares == {1: 0.25}
    choice.budget_bytes = plan.frontier[-1].near_bytes - 1
    last = plan.frontier[-1].time_ns.value / 2
    choice.plan.time_ns = Estimate(last, last, last)
    curve = frontier(plan, position, [choice], [])
    assert curve.time_ns[-1][0] == last
    assert curve.shares[-1] == {1: 0.25}
    assert 1 not in {n for a, b in curve.near[-1] for n in curve.order[a:b]}


def test_objects_without_savings_come_last() -> None:
    _, plan = made(4)
    left_out = plan.frontier.pop().object_added
    curve = frontier(plan, {n: n for n in range(4)}, [], [])
    assert sorted(curve.order) == [0, 1, 2, 3]
    assert curve.order[-1] == left_out


@given(st.sets(st.integers(0, 30)))
def test_runs_encode_the_same_numbers(numbers: set[int]) -> None:
    stretches = runs(sorted(numbers))
    assert [n for a, b in stretches for n in range(a, b)] == sorted(numbers)
    assert all(b < c for (_, b), (c, _) in itertools.pairwise(stretches))


def test_the_card_and_the_slider_take_shares_of_what_plans_place() -> None:
    profile = samples.workload()
    profile.objects[-1].kind, profile.objects[-1].name = "globals", "globals of libc.so.6"
    profile.objects[-1].size_bytes = 1 << 30
    data = report(ReportOptions(profile=profile, near="thesis-dram", far=["optane-100-1dimm"]))
    placed = sum(row.size_bytes for row in profile.objects[:-1])
    (curve,) = [row for row in data.frontiers if row.phase == TOTAL]
    assert curve.footprint_bytes == placed
    (answer,) = data.answers[0].memories
    for saving in answer.savings:
        assert saving.budget_bytes == int(saving.budget_share * placed)
        # The slider shows the last of its budgets that fits.
        shown = max(i for i, size in enumerate(curve.budget_bytes) if size <= saving.budget_bytes)
        assert curve.slowdown[shown][0] == pytest.approx(saving.slowdown.value, rel=0.01)

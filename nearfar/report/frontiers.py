"""The best plan known for every budget, for the page's slider and its chart.

Three kinds of plans compete, all timed by `nearfar place`: the plans of its frontier (objects in
greedy order, each step with one more near), the greedy plans of many budgets (which skip objects
that do not fit), and the plans computed for single budgets, which may keep parts of objects near.
If the plan of a larger budget is slower than that of a smaller one, the smaller budget's plan is
kept.
"""

from __future__ import annotations

from itertools import pairwise

import msgspec

from nearfar.base.estimate import Estimate
from nearfar.documents import Plan
from nearfar.documents.plan import FrontierPoint
from nearfar.report.data import ReportChoice, ReportFrontier, Triple

MAX_POINTS = 400
"""Points of `nearfar place`'s frontier that are kept: the chart has about 700 pixels, and a page
of 5 memories and 4 phases then spends less than 3 MB on its frontiers."""

MIN_GAIN = 1e-12
"""Relative gain in time below which two plans differ only by rounding."""


class SliderStop(msgspec.Struct, frozen=True):
    """One position of the budget slider: the plan of that budget, in short."""

    budget_bytes: int
    near: list[int]
    """Objects kept near, as numbers in the report's data."""
    near_bytes: int
    time_ns: Estimate
    slowdown: Estimate
    cost_relative: float


def frontier(
    plan: Plan, position: dict[int, int], choices: list[ReportChoice], stops: list[SliderStop]
) -> ReportFrontier:
    """Return the best plan for every budget; `position` maps an object's id to its index.

    `choices` and `stops` are of the same memory and phase as `plan`.
    """
    points = plan.frontier
    order = [position[p.object_added] for p in points if p.object_added is not None]
    # Objects that the greedy order leaves out, because they save nothing, come last.
    ordered = set(order)
    order += [number for number in sorted(position.values()) if number not in ordered]
    rank = {number: place for place, number in enumerate(order)}
    plans = [_plan_of_point(points[i], steps) for i, steps in _thinned(points)]
    plans += [_plan_of_stop(stop, rank) for stop in stops]
    plans += [_plan_of_choice(choice, rank) for choice in choices]
    best = _best_so_far(plans)
    return ReportFrontier(
        memory=plan.far,
        phase=plan.phase,
        footprint_bytes=plan.footprint_bytes,
        order=order,
        budget_bytes=[each.budget_bytes for each in best],
        near=[each.runs for each in best],
        shares=[each.shares for each in best],
        near_bytes=[each.near_bytes for each in best],
        time_ns=[_triple(each.time_ns) for each in best],
        slowdown=[_triple(each.slowdown) for each in best],
        cost_relative=[each.cost_relative for each in best],
        points_before_thinning=len(points),
    )


class _BudgetPlan(msgspec.Struct, frozen=True):
    budget_bytes: int
    runs: list[tuple[int, int]]
    near_bytes: int
    time_ns: Estimate
    slowdown: Estimate
    cost_relative: float
    shares: dict[int, float] = {}


def _plan_of_point(point: FrontierPoint, steps: int) -> _BudgetPlan:
    return _BudgetPlan(
        budget_bytes=point.near_bytes,
        runs=[(0, steps)] if steps else [],
        near_bytes=point.near_bytes,
        time_ns=point.time_ns,
        slowdown=point.slowdown,
        cost_relative=point.cost_relative,
    )


def _plan_of_choice(choice: ReportChoice, rank: dict[int, int]) -> _BudgetPlan:
    whole = sorted(rank[number] for number in choice.near if number not in choice.shares)
    return _BudgetPlan(
        budget_bytes=choice.budget_bytes,
        runs=runs(whole),
        near_bytes=choice.plan.near_bytes,
        time_ns=choice.plan.time_ns,
        slowdown=choice.plan.slowdown,
        cost_relative=choice.plan.cost_relative,
        shares=choice.shares,
    )


def _plan_of_stop(stop: SliderStop, rank: dict[int, int]) -> _BudgetPlan:
    return _BudgetPlan(
        budget_bytes=stop.budget_bytes,
        runs=runs(sorted(rank[number] for number in stop.near)),
        near_bytes=stop.near_bytes,
        time_ns=stop.time_ns,
        slowdown=stop.slowdown,
        cost_relative=stop.cost_relative,
    )


def _best_so_far(plans: list[_BudgetPlan]) -> list[_BudgetPlan]:
    best: list[_BudgetPlan] = []
    for each in sorted(plans, key=lambda o: (o.budget_bytes, o.time_ns.value)):
        if not best or each.time_ns.value < best[-1].time_ns.value * (1 - MIN_GAIN):
            best.append(each)
    return best


def runs(ranks: list[int]) -> list[tuple[int, int]]:
    """Return sorted numbers as half-open intervals: 0, 1, 2, 5 gives (0, 3), (5, 6)."""
    if not ranks:
        return []
    breaks = [a for a, b in pairwise(ranks) if b != a + 1]
    starts = [ranks[0], *(b for a, b in pairwise(ranks) if b != a + 1)]
    return [(start, end + 1) for start, end in zip(starts, [*breaks, ranks[-1]], strict=True)]


def _triple(estimate: Estimate) -> Triple:
    return (estimate.value, estimate.low, estimate.high)


def _thinned(points: list[FrontierPoint]) -> list[tuple[int, int]]:
    """Return (index, number of near objects) of each point that thinning keeps."""
    near, steps = 0, []
    for point in points:
        near += point.object_added is not None
        steps.append(near)
    return [(i, steps[i]) for i in thin(points, MAX_POINTS)]


def thin(points: list[FrontierPoint], most: int) -> list[int]:
    """Return the indices of at most `most` + 2 points that keep the curve's shape and ends.

    Half of the points are evenly spaced in bytes and half in time, so that both a flat tail and a
    steep start keep their steps. Points are never averaged, so each is exact.
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

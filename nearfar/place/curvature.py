"""A lower bound of the time of all placements, from how the time changes around a plan.

Solvers need times that add. The model's time is a function of the traffic in far memory, and close
to the plan it is nearly linear: its slope there is a cost per line of each kind. A given bound says
how far the traffic of a faster placement can be from the plan's. Within that distance, the slope
changes by an amount that the model shows at the ends, one kind of line at a time; times the
distance, it is the most that the linear function can be off. The result is a better bound, which
leaves a smaller distance; so the steps repeat.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearfar.place.filling import order_by_density
from nearfar.place.knapsack import knapsack
from nearfar.place.problem import Problem
from nearfar.predict.model import Model
from nearfar.predict.traffic import Array

MAX_STEPS = 8
"""Most repetitions; each leaves about the square of the relative distance."""

MIN_SHRINKING = 0.9
"""Ratio of errors above which another step is not worth its time."""

STEP_SHARE = 1e-4
"""Step of differences that give slopes, as a share of the phase's lines of a kind."""

WEIGHTS = np.geomspace(0.01, 10.0, 7)
"""Weights of lines against time with which distances are bounded; each gives a true bound."""


def bound_around(
    problem: Problem, budget_bytes: float, shares: Array, least_ns: Array, close_ns: float
) -> float:
    """Return a lower bound of the time that whole objects add with one far memory, ns.

    `shares` is the plan; `least_ns` are objects' costs whose sum no placement's added time is
    below. A bound this close to the plan's added time is good enough.
    """
    sizes, far = problem.sizes_bytes, shares[:, 1]
    time_ns = float(problem.shared_times_ns(shares))
    added_ns = time_ns - problem.near_time_ns.value
    costs, most_ns, bound_ns, error_ns = least_ns, added_ns, -np.inf, np.inf
    for _ in range(MAX_STEPS):
        slopes, before_ns, error_ns = np.zeros(len(sizes)), error_ns, 0.0
        for model in problem.models:
            objects = model.phase.objects
            kinds = np.flatnonzero(model.phase.total > 0)
            reach = _reach(costs, most_ns, sizes, budget_bytes, objects[:, kinds])
            slope, error = _linear(model, far @ objects, kinds, reach)
            slopes += objects[:, kinds] @ slope
            error_ns += error
        if not error_ns < MIN_SHRINKING * before_ns:
            break
        solution = knapsack(slopes, sizes, budget_bytes)
        near_ns = float(slopes[solution.chosen].sum()) * (1.0 + solution.gap)
        plan_ns = float(far @ slopes)
        bound_ns = max(bound_ns, added_ns + float(slopes.sum()) - near_ns - plan_ns - error_ns)
        if added_ns - bound_ns <= close_ns:
            break
        # A placement that is faster than the plan costs at most this by the slopes.
        costs, most_ns = slopes, plan_ns + error_ns
    return bound_ns


def _reach(
    costs_ns: Array, most_ns: float, sizes: Array, budget_bytes: float, lines: Array
) -> tuple[Array, Array]:
    """Return the fewest and most far lines of each kind with costs of at most `most_ns`.

    For any weight w, the costs plus w times the lines have a least value within the budget (that of
    divisible objects); a choice with fewer lines than its distance from `most_ns`, over w, would be
    below it.
    """
    total = lines.sum(axis=0)
    fewest, most = np.zeros(len(total)), total.copy()
    unit = float(np.abs(costs_ns).sum())
    for kind in range(len(total)):
        for weight in WEIGHTS * unit / total[kind]:
            up = _least(costs_ns + weight * lines[:, kind], sizes, budget_bytes)
            down = _least(costs_ns - weight * lines[:, kind], sizes, budget_bytes)
            fewest[kind] = max(fewest[kind], (up - most_ns) / weight)
            most[kind] = min(most[kind], (most_ns - down) / weight)
    return fewest, most


def _least(costs_ns: Array, sizes: Array, budget_bytes: float) -> float:
    """Return the least sum of far objects' costs within the budget, if objects are divisible."""
    order = order_by_density(costs_ns, sizes)
    worth, used = costs_ns[order], np.cumsum(sizes[order])
    count = int(np.searchsorted(used, budget_bytes, side="right"))
    near_ns = float(worth[:count].sum())
    if count < len(order):
        free = budget_bytes - (float(used[count - 1]) if count else 0.0)
        near_ns += float(worth[count]) * free / float(sizes[order[count]])
    return float(costs_ns.sum()) - near_ns


def _linear(
    model: Model, moved: Array, kinds: NDArray[np.intp], reach: tuple[Array, Array]
) -> tuple[Array, float]:
    """Return the slopes by kind at `moved`, and the most that they are off within reach, ns."""
    fewest, most = reach
    center = moved[kinds]
    points = np.tile(moved, (1 + 2 * len(kinds), 1))
    for at, kind in enumerate(kinds):
        points[1 + 2 * at, kind] = min(fewest[at], center[at])
        points[2 + 2 * at, kind] = max(most[at], center[at])
    distance = np.maximum(center - fewest, most - center).clip(0.0)
    steps = STEP_SHARE * model.phase.total[kinds]
    ends = []
    for sign in (-1.0, 1.0):
        each = np.repeat(points[:, np.newaxis], len(kinds), axis=1)
        each[:, np.arange(len(kinds)), kinds] += sign * steps
        ends.append(np.clip(each, 0.0, model.phase.total))
    width = (ends[1] - ends[0])[:, np.arange(len(kinds)), kinds]
    slopes = (model.times_ns(ends[1]) - model.times_ns(ends[0])) / width
    changes = np.abs(slopes[1:] - slopes[0]).reshape(len(kinds), 2, len(kinds)).max(axis=1)
    return slopes[0], float(changes.sum(axis=0) @ distance)

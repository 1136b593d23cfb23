"""The frontier of all budgets, from one evaluation of the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearfar.documents.plan import FrontierPoint
from nearfar.place.evaluation import interval_estimates
from nearfar.place.filling import Order, greedy_order
from nearfar.place.problem import Problem
from nearfar.predict.traffic import Array


@dataclass(frozen=True, eq=False)
class BudgetFrontier:
    """Times with the first 0, 1, ... objects of the greedy order near."""

    order: Order
    near_bytes: Array
    """Near memory used after each step, shape (steps + 1,)."""
    times_ns: Array
    """Best time up to each step: it never rises, because a step that does not help is not taken."""


def frontier(problem: Problem) -> BudgetFrontier:
    """Return the frontier of all budgets."""
    order = greedy_order(problem)
    near_bytes = np.concatenate(([0.0], np.cumsum(problem.sizes_bytes[order])))
    times = np.minimum.accumulate(problem.times_along(order))
    return BudgetFrontier(order, near_bytes, times)


def frontier_points(problem: Problem) -> list[FrontierPoint]:
    """Return the frontier as the document's points."""
    curve = frontier(problem)
    times, slowdowns = interval_estimates(problem, curve.times_ns)
    costs = problem.cost_relative(curve.near_bytes).tolist()
    added: list[int | None] = [None, *curve.order.tolist()]
    sizes = [round(value) for value in curve.near_bytes.tolist()]
    return [
        FrontierPoint(
            near_bytes=size, object_added=index, time_ns=time, slowdown=slowdown, cost_relative=cost
        )
        for size, index, time, slowdown, cost in zip(
            sizes, added, times, slowdowns, costs, strict=True
        )
    ]

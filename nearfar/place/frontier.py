"""The whole frontier of budgets, in one evaluation of the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearfar.documents.plan import FrontierPoint
from nearfar.place.evaluate import slowdown_estimates, time_estimates
from nearfar.place.order import Order, greedy_order
from nearfar.place.problem import Problem
from nearfar.predict.traffic import Array


@dataclass(frozen=True, eq=False)
class Frontier:
    """Times with the first 0, 1, ... objects of the greedy order near."""

    order: Order
    near_bytes: Array
    """Room taken after each step, shape (steps + 1,)."""
    times_ns: Array
    """Never rising: where a step would not help, the time before it stands."""

    def time_at(self, budget_bytes: float) -> float:
        """Return the best time whose step fits the budget, ns."""
        return float(self.times_ns[self.step_at(budget_bytes)])

    def step_at(self, budget_bytes: float) -> int:
        """Return how many objects of the order a budget holds."""
        return int(np.searchsorted(self.near_bytes, budget_bytes, side="right")) - 1


def frontier(problem: Problem) -> Frontier:
    """Return the frontier of all budgets."""
    order = greedy_order(problem)
    near_bytes = np.concatenate(([0.0], np.cumsum(problem.sizes_bytes[order])))
    times = np.minimum.accumulate(problem.times_along(order))
    return Frontier(order, near_bytes, times)


def frontier_points(problem: Problem, found: Frontier) -> list[FrontierPoint]:
    """Return the frontier as the document's points."""
    times = time_estimates(problem, found.times_ns)
    slowdowns = slowdown_estimates(problem, found.times_ns)
    costs = problem.cost_relative(found.near_bytes).tolist()
    added: list[int | None] = [None, *found.order.tolist()]
    sizes = [round(value) for value in found.near_bytes.tolist()]
    return [
        FrontierPoint(
            near_bytes=size, object_added=thing, time_ns=time, slowdown=slowdown, cost_relative=cost
        )
        for size, thing, time, slowdown, cost in zip(
            sizes, added, times, slowdowns, costs, strict=True
        )
    ]

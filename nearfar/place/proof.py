"""The largest distance of a plan from the best placement, by the model's times.

Solvers prove gaps of sums, but times do not add. So each object's cost here is the least time that
it adds by the model, either as the first or as the last object in a memory. No placement adds less
than the sum of these costs. The solver's bound of this sum also bounds the model's times, so the
gap is that of the reported plan. This assumes that the time that an object adds lies between those
two, whatever the others' memories. Where bandwidth is shared that is not always so, and the gap can
be too small by a little. If a problem has few placements, all are timed instead.
"""

from __future__ import annotations

import numpy as np

from nearfar.place.assignment import assign
from nearfar.place.capacity import capacity_limits, price_limits
from nearfar.place.knapsack import knapsack
from nearfar.place.problem import Problem
from nearfar.place.search import enumerated, has_few, is_one_knapsack, weighted_search
from nearfar.predict.object_effects import least_added_by_object_ns
from nearfar.predict.traffic import Array

CLOSE_GAP = 1e-4
"""Gap at which no better bound is searched: no prediction is that precise."""


def proven_gap(problem: Problem, budget_bytes: float, shares: Array) -> float:
    """Return the most that the plan is from the best, as a share of the time that it saves.

    It is exact if all placements are timed, else a bound under the assumption above.
    """
    if not problem.names:
        return 0.0
    time_ns = float(problem.shared_times_ns(shares))
    added_ns = time_ns - problem.near_time_ns.value
    slowest = np.eye(shares.shape[1])[[problem.speed_order[-1]] * len(problem.names)]
    saved_ns = float(problem.shared_times_ns(slowest)) - time_ns

    def gap(bound_ns: float) -> float:
        missed_ns = max(0.0, added_ns - bound_ns)
        # Differences of times are accurate to rounding errors.
        if missed_ns <= 1e-12 * time_ns:
            return 0.0
        return missed_ns / saved_ns if saved_ns > 0 else np.inf

    whole = not np.any((shares > 0) & (shares < 1))
    if whole and has_few(problem):
        best = enumerated(problem, budget_bytes, shares)
        return gap(float(problem.shared_times_ns(best)) - problem.near_time_ns.value)
    costs, sizes = problem.sum_by_input(least_added_by_object_ns), problem.sizes_bytes
    limits = capacity_limits(problem, budget_bytes)
    if problem.over == "worst" and len(set(problem.inputs)) > 1:
        return gap(weighted_search(problem, budget_bytes, costs)[1])
    total = costs.sum(axis=0)
    # The bound by prices holds for parts of objects too; the solvers' bounds hold for whole ones.
    if not (whole and is_one_knapsack(problem)):
        bound_ns = price_limits(total, sizes, limits).bound_ns
        if gap(bound_ns) <= CLOSE_GAP or not whole:
            return gap(bound_ns)
        solved = assign(total, sizes, limits)
        rows = np.arange(len(sizes))
        value = float(total[rows, solved.memory].sum())
        saved = float((total.max(axis=1, initial=0.0) - total[rows, solved.memory]).sum())
        return gap(max(bound_ns, value - solved.gap * saved))
    solution = knapsack(total[:, 1], sizes, budget_bytes)
    value = float(total[solution.chosen, 1].sum())
    return gap(float(total[:, 1].sum()) - value * (1.0 + solution.gap))

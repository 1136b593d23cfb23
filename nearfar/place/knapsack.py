"""The 0/1 knapsack, to proven optimality: reduced by its linear bound, the core by HiGHS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.place.filling import fill, order_by_density
from nearfar.place.solver import solve_milp
from nearfar.predict.traffic import Array

TIME_LIMIT_S = 3.0
"""Time after which HiGHS returns its best choice so far, with its gap: a plan takes 5 s at most."""

RELATIVE_GAP = 1e-9
"""Relative gap at which HiGHS may stop: far below the precision of any prediction."""


@dataclass(frozen=True, eq=False)
class Knapsack:
    """A selection of items, and its largest distance from the best one."""

    chosen: NDArray[np.bool_]
    gap: float
    """Proven gap, (upper bound - value) / value; 0 is optimal."""


def knapsack(values: Array, sizes: Array, budget: float) -> Knapsack:
    """Return the selection of greatest value whose sizes fit the budget.

    An item's surplus is its value minus its size times the linear solution's price per byte. The
    slack is the linear upper bound minus the greedy value. Every better selection contains all
    items with a surplus above the slack, and none with a surplus below minus the slack (Dantzig
    1957). HiGHS decides the others: of 10,000 items some tens.
    """
    chosen = (values > 0) & (sizes == 0)
    candidates = np.flatnonzero((values > 0) & (sizes > 0) & (sizes <= budget))
    worth, weights = values[candidates], sizes[candidates]
    if weights.sum() <= budget:
        chosen[candidates] = True
        return Knapsack(chosen, 0.0)
    greedy = fill(order_by_density(worth, weights), weights, budget) > 0
    price = _price_per_byte(worth, weights, budget)
    surplus = worth - price * weights
    bound = price * budget + surplus[surplus > 0].sum()
    # The margin prevents rounding errors from deciding an item; it only enlarges the core problem.
    slack = bound - worth[greedy].sum() + 1e-12 * bound
    certain = surplus > slack
    core = np.flatnonzero(np.abs(surplus) <= slack)
    fixed_value = float(worth[certain].sum())
    free = budget - float(weights[certain].sum())
    core_chosen, core_bound = _solve_core(worth[core], weights[core], free)
    selection = certain.copy()
    selection[core[core_chosen]] = True
    if worth[selection].sum() < worth[greedy].sum():
        selection = greedy
    value = float(worth[selection].sum())
    # No selection exceeds the certain items plus the core's bound, or the greedy value if that is
    # greater: the reduction keeps every selection that is better than greedy.
    upper = min(float(bound), max(fixed_value + core_bound, value))
    chosen[candidates[selection]] = True
    return Knapsack(chosen, max(0.0, (upper - value) / value))


def _price_per_byte(worth: Array, weights: Array, budget: float) -> float:
    """Return the value density at which the budget is full."""
    order = order_by_density(worth, weights)
    breaking = int(np.searchsorted(np.cumsum(weights[order]), budget, side="right"))
    last = order[min(breaking, len(order) - 1)]
    return float(worth[last] / weights[last])


def _solve_core(worth: Array, weights: Array, free: float) -> tuple[NDArray[np.bool_], float]:
    """Return HiGHS' selection of the undecided items, and its upper bound of their value."""
    if worth.size == 0 or free <= 0:
        return np.zeros(worth.size, dtype=bool), 0.0
    from scipy.optimize import LinearConstraint

    # Sizes are divided by the free space, and values by the greatest value, because the solver's
    # tolerances are absolute.
    unit = float(worth.max())
    solution, dual_bound = solve_milp(
        -worth / unit,
        [LinearConstraint(weights[np.newaxis, :] / free, -np.inf, 1.0)],
        np.ones(worth.size, dtype=np.int64),
        time_limit_s=TIME_LIMIT_S,
        relative_gap=RELATIVE_GAP,
    )
    bound = float(worth.sum()) if dual_bound is None else -dual_bound * unit
    chosen = np.zeros(worth.size, dtype=bool) if solution is None else solution > 0.5
    # The solver meets the constraint within a tolerance; a plan must meet it to the byte.
    while weights[chosen].sum() > free:
        inside = np.flatnonzero(chosen)
        chosen[inside[np.argmin(worth[inside])]] = False
    return chosen, bound

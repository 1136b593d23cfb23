"""The 0/1 knapsack, to proven optimality: reduced by its linear bound, the core by HiGHS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.place._silence import native_stdout_silenced
from nearfar.place.order import fill, order_by_density
from nearfar.predict.traffic import Array

TIME_LIMIT_S = 3.0
"""After this the best choice so far is taken, with its gap: a plan within 5 s in all."""

RELATIVE_GAP = 1e-9
"""Where the solver may stop: far below what any prediction knows."""


@dataclass(frozen=True, eq=False)
class Knapsack:
    """A solution."""

    taken: NDArray[np.bool_]
    gap: float
    """Proven: (upper bound - value) / value; 0 is optimal."""


def knapsack(values: Array, sizes: Array, budget: float) -> Knapsack:
    """Return the choice of greatest value whose sizes fit the budget.

    An item whose worth at the linear solution's price of room is further from zero than the
    linear bound is from the greedy value is in, or out, of every better choice (Dantzig 1957).
    What remains undecided, some tens of items of 10,000, is what the solver gets.
    """
    taken = (values > 0) & (sizes == 0)
    asked = np.flatnonzero((values > 0) & (sizes > 0) & (sizes <= budget))
    worth, weights = values[asked], sizes[asked]
    if weights.sum() <= budget:
        taken[asked] = True
        return Knapsack(taken, 0.0)
    greedy = fill(order_by_density(worth, weights), weights, budget) > 0
    price = _price_of_room(worth, weights, budget)
    surplus = worth - price * weights
    bound = price * budget + surplus[surplus > 0].sum()
    # The margin keeps rounding from deciding an item; it only makes the core larger.
    slack = bound - worth[greedy].sum() + 1e-12 * bound
    certain = surplus > slack
    core = np.flatnonzero(np.abs(surplus) <= slack)
    fixed_value = float(worth[certain].sum())
    room = budget - float(weights[certain].sum())
    chosen, core_bound = _solve(worth[core], weights[core], room)
    candidate = certain.copy()
    candidate[core[chosen]] = True
    if worth[candidate].sum() < worth[greedy].sum():
        candidate = greedy
    value = float(worth[candidate].sum())
    # No choice beats the core's bound on top of what is certain, nor the greedy value where
    # that is greater (the reduction keeps every choice better than greedy).
    upper = min(float(bound), max(fixed_value + core_bound, value))
    taken[asked[candidate]] = True
    return Knapsack(taken, max(0.0, (upper - value) / value))


def _price_of_room(worth: Array, weights: Array, budget: float) -> float:
    """Return the value density at which the budget is full."""
    order = order_by_density(worth, weights)
    breaking = int(np.searchsorted(np.cumsum(weights[order]), budget, side="right"))
    last = order[min(breaking, len(order) - 1)]
    return float(worth[last] / weights[last])


def _solve(worth: Array, weights: Array, room: float) -> tuple[NDArray[np.bool_], float]:
    """Return what HiGHS takes of the core, and its bound on the core's value."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    if worth.size == 0 or room <= 0:
        return np.zeros(worth.size, dtype=bool), 0.0
    # In units of the room and of the greatest value, so that the solver's absolute tolerances
    # mean the same for a KiB as for a TiB.
    unit = float(worth.max())
    with native_stdout_silenced():
        solved = milp(
            -worth / unit,
            constraints=LinearConstraint(weights[np.newaxis, :] / room, -np.inf, 1.0),
            integrality=np.ones(worth.size, dtype=np.int64),
            bounds=Bounds(0, 1),
            options={"time_limit": TIME_LIMIT_S, "mip_rel_gap": RELATIVE_GAP},
        )
    bound = float(worth.sum()) if solved.mip_dual_bound is None else -solved.mip_dual_bound * unit
    chosen = np.zeros(worth.size, dtype=bool) if solved.x is None else solved.x > 0.5
    # The solver keeps its constraint within a tolerance; a plan keeps it to the byte.
    while weights[chosen].sum() > room:
        inside = np.flatnonzero(chosen)
        chosen[inside[np.argmin(worth[inside])]] = False
    return chosen, bound

"""The same quick choice from any costs: for comparing what changes when costs do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearfar.place.assign import greedy_assign
from nearfar.place.order import fill, order_by_density
from nearfar.place.problem import Problem
from nearfar.place.room_prices import price_rooms
from nearfar.place.rooms import rooms_of
from nearfar.place.search import one_knapsack
from nearfar.predict.traffic import Array


def quick_choice(problem: Problem, costs_ns: Array, budget_bytes: float) -> NDArray[np.int_]:
    """Return each object's memory as greedy has it with these costs (objects, memories)."""
    sizes = problem.sizes_bytes
    if one_knapsack(problem):
        near = fill(order_by_density(costs_ns[:, 1], sizes), sizes, budget_bytes)
        return np.where(near > 0, 0, 1)
    rooms = rooms_of(problem, budget_bytes)
    found = greedy_assign(costs_ns, sizes, rooms, price_rooms(costs_ns, sizes, rooms))
    return np.zeros(len(sizes), dtype=int) if found is None else found

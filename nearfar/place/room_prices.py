"""The price of room: what a byte of each limit is worth, by Lagrange.

At prices l >= 0 every object goes where its own time plus its room's price is least. That sum,
less what the limits hold times their prices, is below every choice that keeps the limits, for any
prices; the best prices give the bound of the linear programme. The bound is concave in the few
prices, so it is found by Kelley's cuts: each evaluation gives a plane above it, the next prices
are the highest point below all planes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearfar.place.rooms import Rooms
from nearfar.predict.traffic import Array

MOST_CUTS = 60
"""Two or three prices settle within 20."""

SETTLED = 1e-6
"""Of what there is to save, the planes' height above the best value found: the bound moves no
more than that."""


@dataclass(frozen=True, eq=False)
class Priced:
    """Prices and what they say."""

    prices: Array
    """ns per weighted byte of each limit."""
    reduced: Array
    """(objects, memories): an object's time there plus its room's price."""
    bound: float
    """No choice that keeps the limits takes less, ns."""


def price_rooms(costs_ns: Array, sizes_bytes: Array, rooms: Rooms) -> Priced:
    """Return the best prices of the limits for objects' costs (objects, memories)."""
    count = len(rooms.limits)
    if count == 0:
        return Priced(np.zeros(0), costs_ns, float(costs_ns.min(axis=1).sum()))
    # In units of the limits, so that prices are times and of like size.
    scale = np.maximum(rooms.limits, 1.0)
    weights = rooms.weights / scale[:, np.newaxis]
    limits = rooms.limits / scale
    spread = float((costs_ns.max(axis=1) - costs_ns.min(axis=1)).sum())
    # A greater price than all that there is to save buys nothing more, but where limits are
    # nearly nothing a dearer one still keeps objects out: the last factor is for those.
    most = np.full(count, max(spread, 1.0) * 1e3)
    prices = np.zeros(count)
    planes: list[tuple[float, Array, Array]] = []
    best = Priced(prices, costs_ns, -np.inf)
    for _ in range(MOST_CUTS):
        reduced = costs_ns + sizes_bytes[:, np.newaxis] * (prices @ weights)
        chosen = reduced.argmin(axis=1)
        used = np.bincount(chosen, weights=sizes_bytes, minlength=costs_ns.shape[1])
        value = float(reduced.min(axis=1).sum() - prices @ limits)
        if value > best.bound:
            best = Priced(prices / scale, reduced, value)
        planes.append((value, weights @ used - limits, prices))
        height, prices = _highest(planes, most, max(spread, 1.0))
        if height - best.bound <= SETTLED * spread:
            break
    return best


def _highest(
    planes: list[tuple[float, Array, Array]], most: Array, unit: float
) -> tuple[float, Array]:
    """Return the greatest height below all planes, and the prices there.

    In units of what there is to save: the solver's tolerance is of that, however steep a plane.
    """
    from scipy.optimize import linprog

    count = len(most)
    # Variables: height / unit, prices / unit. Height <= value + slope (prices - there).
    rows = np.array([[1.0, *(-slope)] for _, slope, _ in planes])
    right = np.array([(value - slope @ there) / unit for value, slope, there in planes])
    found = linprog(
        np.array([-1.0, *np.zeros(count)]),
        A_ub=rows,
        b_ub=right,
        bounds=[(None, None), *((0.0, top / unit) for top in most)],
        method="highs",
    )
    if found.x is None:
        return -np.inf, planes[-1][2]
    return float(found.x[0] * unit), np.asarray(np.maximum(found.x[1:], 0.0) * unit)

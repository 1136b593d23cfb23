"""Limits of placements (capacities, total price), and the shadow price of a byte of each.

Each limit is a row of weights, one per memory: the sum of each memory's bytes times its weight must
not exceed the limit.

The prices of limits are Lagrange multipliers. At prices l >= 0 every object goes to the memory with
the least sum of its time and the price of its bytes. The total of these sums, minus limits times
prices, is a lower bound of every choice that meets the limits. The bound is concave in the few
prices, so Kelley's cutting planes find its maximum: each evaluation gives a plane above the bound,
and the next prices are the highest point below all planes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from nearfar.base.errors import NearfarError
from nearfar.base.units import format_bytes
from nearfar.place.problem import Problem
from nearfar.predict.traffic import Array

TOLERANCE = 1e-9
"""Relative tolerance of a limit: sums of sizes are rounded."""

MAX_CUTS = 60
"""Cutting planes per search; two or three prices converge within 20."""

CONVERGED_SHARE = 1e-6
"""Stop when the planes are above the bound by less than this share of the possible savings."""


@dataclass(frozen=True, eq=False)
class CapacityLimits:
    """All limits of a problem."""

    weights: Array
    """Weight of a byte of each memory in each limit, (limits, memories)."""
    limits: Array
    """Most weighted bytes, (limits,)."""

    def allow(self, bytes_by_memory: Array | NDArray[np.int_]) -> bool:
        """Return whether these bytes meet all limits."""
        return bool(self.allow_each(np.asarray(bytes_by_memory, dtype=float)[np.newaxis])[0])

    def allow_each(self, bytes_by_memory: Array) -> NDArray[np.bool_]:
        """Return whether each row of bytes (placements, memories) meets all limits."""
        used = bytes_by_memory @ self.weights.T
        most = self.limits + TOLERANCE * np.abs(self.limits)
        return np.asarray((used <= most).all(axis=1))


@dataclass(frozen=True, eq=False)
class LimitPrices:
    """Prices of the limits, and the costs and the bound that follow from them."""

    prices: Array
    """Price of a weighted byte of each limit, ns."""
    reduced_ns: Array
    """Each object's time in each memory plus the price of its bytes, (objects, memories)."""
    bound_ns: float
    """Lower bound of the added time of every choice that meets the limits."""


def capacity_limits(problem: Problem, budget_bytes: float) -> CapacityLimits:
    """Return the limits that bind: near memory, far memories and the total price.

    Raises NearfarError where all memories together cannot hold the program.
    """
    footprint = problem.footprint_bytes
    capacities = np.array([budget_bytes, *problem.capacities_bytes])
    count = len(capacities)
    if capacities.sum() < footprint:
        terms = " + ".join(
            f"{name} {format_bytes(size)}"
            for name, size in zip(problem.memory_names, capacities.tolist(), strict=True)
        )
        raise NearfarError(
            f"the memories hold {format_bytes(float(capacities.sum()))} in all ({terms}) and the "
            f"program needs {format_bytes(footprint)}: raise a capacity or the budget, or name one "
            "more memory"
        )
    rows = [np.eye(count)[m] for m in range(count) if capacities[m] < footprint]
    limits = [float(capacities[m]) for m in range(count) if capacities[m] < footprint]
    if math.isfinite(problem.max_cost):
        rows.append(problem.prices_per_byte())
        limits.append(problem.max_cost * footprint * problem.prices.near_per_byte)
        cheapest = _cheapest_price(problem, capacities)
        if cheapest > limits[-1] * (1 + TOLERANCE):
            least = cheapest / max(footprint * problem.prices.near_per_byte, 1e-300)
            raise NearfarError(
                f"no placement costs {problem.max_cost:.0%} of all near: at these prices and "
                f"capacities the cheapest costs {least:.0%}"
            )
    if not rows:
        return CapacityLimits(np.zeros((0, count)), np.zeros(0))
    return CapacityLimits(np.array(rows), np.array(limits))


def _cheapest_price(problem: Problem, capacities: Array) -> float:
    """Return the lowest price of memory that holds the program."""
    left, price = float(problem.footprint_bytes), 0.0
    prices = problem.prices_per_byte()
    for memory in np.argsort(prices):
        size = min(left, float(capacities[memory]))
        price += size * float(prices[memory])
        left -= size
    return price


@lru_cache(maxsize=16)
def limit_prices(problem: Problem, budget_bytes: float) -> LimitPrices:
    """Return the prices of the problem's limits; cached, as each step of a plan asks for them."""
    limits = capacity_limits(problem, budget_bytes)
    return price_limits(problem.costs_ns, problem.sizes_bytes, limits)


def price_limits(costs_ns: Array, sizes_bytes: Array, limits: CapacityLimits) -> LimitPrices:
    """Return the prices of the limits with the highest bound for costs (objects, memories)."""
    count = len(limits.limits)
    if count == 0:
        return LimitPrices(np.zeros(0), costs_ns, float(costs_ns.min(axis=1).sum()))
    # In units of the limits, so that prices are times of similar size.
    scale = np.maximum(limits.limits, 1.0)
    weights = limits.weights / scale[:, np.newaxis]
    scaled_limits = limits.limits / scale
    spread = float((costs_ns.max(axis=1) - costs_ns.min(axis=1)).sum())
    # A price above all possible savings has no further effect, except for a limit near 0, which
    # needs a higher price to keep objects out; hence the factor.
    max_prices = np.full(count, max(spread, 1.0) * 1e3)
    prices = np.zeros(count)
    # By memory: sums and minima over a few columns are slow if these are the inner axis.
    by_memory = np.ascontiguousarray(costs_ns.T)
    planes: list[tuple[float, Array, Array]] = []
    best, best_reduced = LimitPrices(prices, costs_ns, -np.inf), by_memory
    for _ in range(MAX_CUTS):
        reduced = by_memory + sizes_bytes * (prices @ weights)[:, np.newaxis]
        memory = reduced.argmin(axis=0)
        used = np.bincount(memory, weights=sizes_bytes, minlength=costs_ns.shape[1])
        value = float(reduced.min(axis=0).sum() - prices @ scaled_limits)
        if value > best.bound_ns:
            best, best_reduced = LimitPrices(prices / scale, costs_ns, value), reduced
        planes.append((value, weights @ used - scaled_limits, prices))
        height, prices = _highest_point(planes, max_prices, max(spread, 1.0))
        if height - best.bound_ns <= CONVERGED_SHARE * spread:
            break
    return replace(best, reduced_ns=np.ascontiguousarray(best_reduced.T))


def _highest_point(
    planes: list[tuple[float, Array, Array]], max_prices: Array, unit: float
) -> tuple[float, Array]:
    """Return the greatest height below all planes, and the prices of that point.

    Heights are in units of the possible savings, so the solver's tolerance is a share of those,
    however steep a plane is.
    """
    if len(max_prices) == 1:
        return _highest_point_of_lines(planes, float(max_prices[0]))
    from scipy.optimize import linprog

    # Variables: height / unit, prices / unit. Height <= value + slope (prices - point).
    rows = np.array([[1.0, *(-slope)] for _, slope, _ in planes])
    right = np.array([(value - slope @ point) / unit for value, slope, point in planes])
    result = linprog(
        np.array([-1.0, *np.zeros(len(max_prices))]),
        A_ub=rows,
        b_ub=right,
        bounds=[(None, None), *((0.0, top / unit) for top in max_prices)],
        method="highs",
    )
    if result.x is None:
        return -np.inf, planes[-1][2]
    return float(result.x[0] * unit), np.asarray(np.maximum(result.x[1:], 0.0) * unit)


def _highest_point_of_lines(
    planes: list[tuple[float, Array, Array]], max_price: float
) -> tuple[float, Array]:
    """Return the same for one price, a hundred times as fast: it is where two lines cross."""
    slopes = np.array([slope[0] for _, slope, _ in planes])
    heights = np.array([value - slope[0] * point[0] for value, slope, point in planes])
    first, second = np.triu_indices(len(planes), 1)
    differ = slopes[first] != slopes[second]
    first, second = first[differ], second[differ]
    crossings = (heights[second] - heights[first]) / (slopes[first] - slopes[second])
    prices = np.clip([0.0, max_price, *crossings], 0.0, max_price)
    lowest = (heights[:, np.newaxis] + slopes[:, np.newaxis] * prices).min(axis=0)
    best = int(lowest.argmax())
    return float(lowest[best]), prices[best : best + 1]

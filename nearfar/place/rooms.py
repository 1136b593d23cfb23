"""What limits how much goes where: capacities of memories, and the price of all.

Each limit is a row of weights, one per memory: bytes in each memory times its weight, summed, may
not exceed the limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.base.errors import NearfarError
from nearfar.base.units import format_bytes
from nearfar.place.problem import Problem
from nearfar.predict.traffic import Array

TOLERANCE = 1e-9
"""Relative: sums of sizes are rounded."""


@dataclass(frozen=True, eq=False)
class Rooms:
    """All limits of a problem."""

    weights: Array
    """(limits, memories)."""
    limits: Array
    """(limits,)."""

    def hold(self, bytes_by_memory: Array | NDArray[np.int_]) -> bool:
        """Return whether all limits are kept."""
        used = self.weights @ bytes_by_memory
        return bool(np.all(used <= self.limits + TOLERANCE * np.abs(self.limits)))


def rooms_of(problem: Problem, budget_bytes: float) -> Rooms:
    """Return the limits that bind: of near memory, of far ones, and of the price.

    Raises NearfarError where all memories together cannot hold the program.
    """
    footprint = problem.footprint_bytes
    capacities = np.array([budget_bytes, *problem.capacities_bytes])
    count = len(capacities)
    if capacities.sum() < footprint:
        held = " + ".join(
            f"{name} {format_bytes(size)}"
            for name, size in zip(problem.memory_names, capacities.tolist(), strict=True)
        )
        raise NearfarError(
            f"the memories hold {format_bytes(float(capacities.sum()))} in all ({held}) and the "
            f"program needs {format_bytes(footprint)}: raise a capacity or the budget, or name one "
            "more memory"
        )
    rows = [np.eye(count)[m] for m in range(count) if capacities[m] < footprint]
    limits = [float(capacities[m]) for m in range(count) if capacities[m] < footprint]
    if math.isfinite(problem.most_cost):
        rows.append(problem.prices_per_byte())
        limits.append(problem.most_cost * footprint * problem.prices.near_per_byte)
        cheapest = _cheapest(problem, capacities)
        if cheapest > limits[-1] * (1 + TOLERANCE):
            least = cheapest / max(footprint * problem.prices.near_per_byte, 1e-300)
            raise NearfarError(
                f"no placement costs {problem.most_cost:.0%} of all near: at these prices and "
                f"capacities the cheapest costs {least:.0%}"
            )
    if not rows:
        return Rooms(np.zeros((0, count)), np.zeros(0))
    return Rooms(np.array(rows), np.array(limits))


def _cheapest(problem: Problem, capacities: Array) -> float:
    """Return the least price of memory that holds the program."""
    left, spent = float(problem.footprint_bytes), 0.0
    prices = problem.prices_per_byte()
    for memory in np.argsort(prices):
        taken = min(left, float(capacities[memory]))
        spent += taken * float(prices[memory])
        left -= taken
    return spent

"""The least near memory that keeps a slowdown."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.place.evaluate import evaluate
from nearfar.place.optimiser import Choice
from nearfar.place.problem import Problem

Judge = Literal["value", "high"]

QUICK_STEPS = 30
"""Halvings of the budget by greedy: to a thousandth of a ppm of the program's memory."""

EXACT_STEPS = 5
"""Halvings by the plan's own optimiser below what greedy needs."""

GREEDY_LOSES = 0.9
"""Of greedy's budget, where the search for less begins; greedy is within a per cent or so."""

ROUNDING = 1e-9
"""Relative: a slowdown of 1.1 kept to the last digit is kept."""


def check_goal(most_slowdown: float) -> None:
    """Refuse what is no slowdown of 1 or more."""
    if not (math.isfinite(most_slowdown) and most_slowdown >= 1.0):
        raise NearfarError(
            f"--slo {most_slowdown:g} is no slowdown: 1 is as fast as all near, 1.10 is at most "
            "10 % slower"
        )


def least_budget(
    problem: Problem,
    most_slowdown: float,
    judge: Judge,
    quick: Callable[[int], Choice],
    choose: Callable[[int], Choice],
) -> tuple[int, bool]:
    """Return the least budget, bytes, at which a choice keeps the slowdown, and whether any does.

    `quick` and `choose` place for a budget; the first is asked often.
    """
    footprint = problem.footprint_bytes

    def keeps(place: Callable[[int], Choice], budget: int) -> bool:
        try:
            shares = place(budget).shares
        except NearfarError:
            # Whole objects may not fit where their sum does.
            return False
        found = evaluate(problem, shares[np.newaxis])[0].slowdown
        slowdown = found.value if judge == "value" else found.high
        return slowdown <= most_slowdown * (1 + ROUNDING)

    least = _least_possible(problem)
    if keeps(choose, least):
        return least, True
    if not keeps(quick, footprint):
        return footprint, keeps(choose, footprint)
    low, high = least, footprint
    for _ in range(QUICK_STEPS):
        middle = (low + high) // 2
        if middle == low:
            break
        low, high = (low, middle) if keeps(quick, middle) else (middle, high)
    best = high
    low = max(least, int(GREEDY_LOSES * high))
    for _ in range(EXACT_STEPS):
        middle = (low + high) // 2
        if middle == low:
            break
        if keeps(choose, middle):
            best, high = middle, middle
        else:
            low = middle
    return best, True


def _least_possible(problem: Problem) -> int:
    """Return what far memories cannot hold, bytes."""
    far = sum(problem.capacities_bytes)
    return 0 if math.isinf(far) else max(0, problem.footprint_bytes - int(far))

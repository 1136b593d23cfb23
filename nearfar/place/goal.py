"""Search for the least near memory that meets a slowdown goal."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.options.place import Judge
from nearfar.place.evaluation import evaluate
from nearfar.place.problem import Problem
from nearfar.predict.traffic import Array

TimedShares = tuple[Problem, Array]
"""Shares of a choice, by object or by range, and the problem that times them."""

GREEDY_STEPS = 30
"""Halvings of the budget by greedy: to a thousandth of a ppm of the program's memory."""

EXACT_STEPS = 5
"""Halvings by the plan's optimiser below greedy's budget."""

MIN_BUDGET_SHARE = 0.9
"""Share of greedy's budget where the exact search begins; greedy is mostly within about 1 %."""

ROUNDING = 1e-9
"""Relative tolerance: a slowdown of 1.1 met to the last digit is met."""


def check_goal(max_slowdown: float) -> None:
    """Raise NearfarError unless the goal is a number of 1 or more."""
    if not (math.isfinite(max_slowdown) and max_slowdown >= 1.0):
        raise NearfarError(
            f"--slo {max_slowdown:g} is no slowdown: 1 is as fast as all near, 1.10 is at most "
            "10 % slower"
        )


def least_budget(
    problem: Problem,
    max_slowdown: float,
    judge: Judge,
    choose_greedy: Callable[[int], TimedShares],
    choose: Callable[[int], TimedShares],
) -> tuple[int, bool]:
    """Return the least budget, bytes, whose choice meets the goal, and whether any budget does.

    The search calls the fast `choose_greedy` often, and `choose` only a few times.
    """
    footprint = problem.footprint_bytes

    def meets(chooser: Callable[[int], TimedShares], budget: int) -> bool:
        try:
            timed, shares = chooser(budget)
        except NearfarError:
            # Whole objects may not fit although the sum of their bytes does.
            return False
        estimate = evaluate(timed, shares[np.newaxis])[0].slowdown
        slowdown = estimate.value if judge == "value" else estimate.high
        return slowdown <= max_slowdown * (1 + ROUNDING)

    least = _min_budget(problem)
    if meets(choose, least):
        return least, True
    if not meets(choose_greedy, footprint):
        return footprint, meets(choose, footprint)
    high = _bisect_budget(least, footprint, partial(meets, choose_greedy), GREEDY_STEPS)
    chosen = partial(meets, choose)
    if not chosen(high):
        if not chosen(footprint):
            return footprint, False
        return _bisect_budget(high, footprint, chosen, 2 * EXACT_STEPS), True
    share = MIN_BUDGET_SHARE
    low = max(least, int(share * high))
    while low > least and chosen(low):
        # Greedy's budget was too large by more, as with few large objects: look farther below.
        high, share = low, share**2
        low = max(least, int(share * high))
    return _bisect_budget(low, high, chosen, EXACT_STEPS), True


def _bisect_budget(low: int, high: int, meets: Callable[[int], bool], steps: int) -> int:
    """Bisect between `low`, which misses the goal, and `high`; return the least that meets it."""
    for _ in range(steps):
        middle = (low + high) // 2
        if middle == low:
            break
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high


def _min_budget(problem: Problem) -> int:
    """Return the bytes that far memories cannot hold."""
    far = sum(problem.capacities_bytes)
    return 0 if math.isinf(far) else max(0, problem.footprint_bytes - int(far))

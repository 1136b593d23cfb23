"""Greedy plans for many budgets of one far memory and phase, timed by the model in one go."""

from __future__ import annotations

import numpy as np

from nearfar.place.evaluation import evaluate
from nearfar.place.optimiser import OPTIMISERS
from nearfar.place.problem import Problem
from nearfar.report.frontiers import Stop

STEP_PERCENT = 0.5
"""The slider's step: budgets on the page are multiples of it."""


def ladder_budgets(footprint_bytes: int) -> list[int]:
    """Return the slider's budgets, bytes, from nothing to everything."""
    steps = round(100 / STEP_PERCENT)
    return [int((STEP_PERCENT * step / 100) * footprint_bytes) for step in range(steps + 1)]


def ladder(problem: Problem, budgets_bytes: list[int]) -> list[Stop]:
    """Return the greedy plan of each budget, as `nearfar place` computes it."""
    greedy = OPTIMISERS.get("greedy")()
    shares = np.stack([greedy.choose(problem, budget).near_shares for budget in budgets_bytes])
    plans = evaluate(problem, problem.in_first_far(shares))
    return [
        Stop(
            budget_bytes=budget,
            near=np.flatnonzero(row).tolist(),
            near_bytes=plan.near_bytes,
            time_ns=plan.time_ns,
            slowdown=plan.slowdown,
            cost_relative=plan.cost_relative,
        )
        for budget, row, plan in zip(budgets_bytes, shares, plans, strict=True)
    ]

"""The best choice for one budget, by a mixed-integer solver, with a proven gap."""

from __future__ import annotations

import numpy as np

from nearfar.place.knapsack import knapsack
from nearfar.place.optimiser import OPTIMISERS, Choice, Optimiser
from nearfar.place.order import fill, greedy_order
from nearfar.place.problem import Problem
from nearfar.place.search import best_of, exact_several, one_knapsack


@OPTIMISERS.register("exact")
class Exact(Optimiser):
    """One budget: a 0/1 knapsack; several limits: an assignment; the greatest saved time that fits.

    The objects' shares of the added time are what is summed, so the proof holds where times
    add. Where bandwidth binds they do not, and another choice, timed by the model, may be
    better: then it is taken.
    """

    name = "exact"
    bar = "optimal"

    def choose(self, problem: Problem, budget_bytes: int) -> Choice:
        """Return the solver's choice, or another where the model times that faster."""
        if not one_knapsack(problem):
            return Choice(*exact_several(problem, budget_bytes))
        solved = knapsack(problem.added_ns, problem.sizes_bytes, budget_bytes)
        filled = fill(greedy_order(problem), problem.sizes_bytes, budget_bytes)
        rivals = [np.where(solved.taken, 1.0, 0.0), filled]
        return Choice(best_of(problem, [problem.in_first_far(near) for near in rivals]), solved.gap)

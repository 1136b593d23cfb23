"""The best choice for one budget, by a mixed-integer solver, with a proven gap."""

from __future__ import annotations

import numpy as np

from nearfar.place.filling import fill, greedy_order
from nearfar.place.knapsack import knapsack
from nearfar.place.optimiser import OPTIMISERS, Optimiser, PlacementChoice
from nearfar.place.problem import Problem
from nearfar.place.search import best_of, exact_search, is_one_knapsack


@OPTIMISERS.register("exact")
class Exact(Optimiser):
    """Solve a 0/1 knapsack for one budget, an assignment for several limits.

    The solver sums the objects' shares of the added time, so the proof holds where times add.
    Where bandwidth binds they do not, and the model may time another choice faster: then that is
    the result.
    """

    bar = "optimal"

    def choose(self, problem: Problem, budget_bytes: int) -> PlacementChoice:
        """Return the solver's choice, or greedy's where the model times that faster."""
        if not is_one_knapsack(problem):
            return PlacementChoice(*exact_search(problem, budget_bytes))
        solution = knapsack(problem.added_ns, problem.sizes_bytes, budget_bytes)
        filled = fill(greedy_order(problem), problem.sizes_bytes, budget_bytes)
        rivals = [np.where(solution.chosen, 1.0, 0.0), filled]
        best = best_of(problem, [problem.in_first_far(near) for near in rivals])
        return PlacementChoice(best, solution.gap)

"""The best choice for one budget or several limits, by a mixed-integer solver."""

from __future__ import annotations

from nearfar.place.optimiser import OPTIMISERS, Optimiser, PlacementChoice
from nearfar.place.problem import Problem
from nearfar.place.search import exact_search, is_one_knapsack, knapsack_search


@OPTIMISERS.register("exact")
class Exact(Optimiser):
    """Solve a 0/1 knapsack for one budget, an assignment for several limits.

    The solver sums the times that objects add. If bandwidth is the limit, times do not add: then
    costs are computed again around the choice, and the model times the alternatives.
    """

    bar = "optimal"

    def choose(self, problem: Problem, budget_bytes: int) -> PlacementChoice:
        """Return the choice of the search that is fastest by the model."""
        if is_one_knapsack(problem):
            return PlacementChoice(knapsack_search(problem, budget_bytes))
        return PlacementChoice(exact_search(problem, budget_bytes))

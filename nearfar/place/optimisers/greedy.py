"""Most saved time per byte first."""

from __future__ import annotations

from nearfar.place.optimiser import OPTIMISERS, Optimiser, PlacementChoice
from nearfar.place.problem import Problem
from nearfar.place.search import greedy_near_shares, greedy_search, is_one_knapsack


@OPTIMISERS.register("greedy")
class Greedy(Optimiser):
    """Fill the budget by benefit per byte; it saves at least half of what the best choice saves.

    The filling by benefit per byte alone can be arbitrarily bad: a small dense object may displace
    a large one that would fill the budget. The better of this filling and the single best object
    saves at least half of the optimum (the classic bound, if times add). With several limits, the
    price of an object's bytes is subtracted from its benefit (see `assignment`).
    """

    bar = "greedy"

    def choose(self, problem: Problem, budget_bytes: int) -> PlacementChoice:
        """Return the better of the filling by density and the one best object that fits."""
        if not is_one_knapsack(problem):
            return PlacementChoice(greedy_search(problem, budget_bytes))
        near = greedy_near_shares(problem, [budget_bytes])[0]
        return PlacementChoice(problem.in_first_far(near))

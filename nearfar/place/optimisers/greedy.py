"""Most saved time per byte first."""

from __future__ import annotations

from nearfar.place.optimiser import OPTIMISERS, Choice, Optimiser
from nearfar.place.order import fill, greedy_order, single_best
from nearfar.place.problem import Problem
from nearfar.place.search import best_of, greedy_several, one_knapsack


@OPTIMISERS.register("greedy")
class Greedy(Optimiser):
    """Fills the budget by benefit per byte; at least half of the best there is.

    Benefit per byte alone can be arbitrarily bad: a small dense object in the way of a large
    one that would have filled the budget. The better of it and the one best object saves at
    least half of what the best choice saves (the classic bound, where times add). With several
    limits, benefit is less what room is worth (see `assign`).
    """

    name = "greedy"
    bar = "greedy"

    def choose(self, problem: Problem, budget_bytes: int) -> Choice:
        """Return the better of the dense filling and the one best object that fits."""
        if not one_knapsack(problem):
            return Choice(greedy_several(problem, budget_bytes))
        filled = fill(greedy_order(problem), problem.sizes_bytes, budget_bytes)
        rivals = [filled, single_best(problem, budget_bytes)]
        return Choice(best_of(problem, [problem.in_first_far(near) for near in rivals]))

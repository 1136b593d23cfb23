"""The best choice for one budget, by a mixed-integer solver, with a proven gap."""

from __future__ import annotations

import numpy as np

from nearfar.place.knapsack import knapsack
from nearfar.place.optimiser import OPTIMISERS, Choice, Optimiser
from nearfar.place.order import best_of, fill, greedy_order
from nearfar.place.problem import Problem


@OPTIMISERS.register("exact")
class Exact(Optimiser):
    """A 0/1 knapsack: the greatest saved time that fits.

    The objects' shares of the added time are what is summed, so the proof holds where times
    add. Where bandwidth binds they do not, and the greedy choice, timed by the model, may be
    better: then it is taken.
    """

    name = "exact"
    bar = "optimal"

    def choose(self, problem: Problem, budget_bytes: int) -> Choice:
        """Return the solver's choice, or the greedy one where the model times that faster."""
        solved = knapsack(problem.added_ns, problem.sizes_bytes, budget_bytes)
        filled = fill(greedy_order(problem), problem.sizes_bytes, budget_bytes)
        shares = best_of(problem, [np.where(solved.taken, 1.0, 0.0), filled])
        return Choice(shares, solved.gap)

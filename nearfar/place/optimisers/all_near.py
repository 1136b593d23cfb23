"""Everything near: the best time, and its price in near memory."""

from __future__ import annotations

import numpy as np

from nearfar.place.optimiser import OPTIMISERS, Optimiser, PlacementChoice
from nearfar.place.problem import Problem


@OPTIMISERS.register("all-near")
class AllNear(Optimiser):
    """Place everything near, whatever the budget is."""

    bar = "all-near"
    only_bar = True

    def choose(self, problem: Problem, budget_bytes: int) -> PlacementChoice:
        """Return everything near."""
        return PlacementChoice(problem.in_first_far(np.ones(len(problem.names))))

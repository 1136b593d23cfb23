"""Everything near: the best time, and what it costs in near memory."""

from __future__ import annotations

import numpy as np

from nearfar.place.optimiser import OPTIMISERS, Choice, Optimiser
from nearfar.place.problem import Problem


@OPTIMISERS.register("all-near")
class AllNear(Optimiser):
    """A bar to compare with; it heeds no budget."""

    name = "all-near"
    bar = "all-near"
    only_bar = True

    def choose(self, problem: Problem, budget_bytes: int) -> Choice:
        """Return everything near."""
        return Choice(problem.in_first_far(np.ones(len(problem.names))))

"""Everything far: what a program does that nobody looked at."""

from __future__ import annotations

import numpy as np

from nearfar.place.optimiser import OPTIMISERS, Choice, Optimiser
from nearfar.place.problem import Problem


@OPTIMISERS.register("all-far")
class AllFar(Optimiser):
    """A bar to compare with."""

    name = "all-far"
    bar = "all-far"

    def choose(self, problem: Problem, budget_bytes: int) -> Choice:
        """Return everything far."""
        return Choice(np.zeros(len(problem.names)))

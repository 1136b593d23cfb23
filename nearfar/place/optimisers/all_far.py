"""Everything far: what a program does that nobody looked at."""

from __future__ import annotations

import numpy as np

from nearfar.place.optimiser import OPTIMISERS, Choice, Optimiser
from nearfar.place.problem import Problem
from nearfar.place.tiers import fill_tiers


@OPTIMISERS.register("all-far")
class AllFar(Optimiser):
    """A bar to compare with: far memories are filled in the order given, near with what is left."""

    name = "all-far"
    bar = "all-far"

    def choose(self, problem: Problem, budget_bytes: int) -> Choice:
        """Return everything far, as far as far memories hold it."""
        tiers = [*range(1, len(problem.fars) + 1), 0]
        everything = np.arange(len(problem.names))
        return Choice(fill_tiers(problem, everything, budget_bytes, tiers))

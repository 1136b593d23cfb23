"""Everything far: the default without a plan."""

from __future__ import annotations

import numpy as np

from nearfar.place.filling import fill_memories
from nearfar.place.optimiser import OPTIMISERS, Optimiser, PlacementChoice
from nearfar.place.problem import Problem


@OPTIMISERS.register("all-far")
class AllFar(Optimiser):
    """Fill far memories in the order given, then near memory with what is left."""

    bar = "all-far"
    uses_budget = False

    def choose(self, problem: Problem, budget_bytes: int) -> PlacementChoice:
        """Return everything far, as far as far memories hold it."""
        memories = [*range(1, len(problem.fars) + 1), 0]
        order = np.arange(len(problem.names))
        return PlacementChoice(fill_memories(problem, order, budget_bytes, memories))

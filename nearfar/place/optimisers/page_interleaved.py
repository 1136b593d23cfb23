"""Pages interleaved over the memories without regard to their content, as the kernel can."""

from __future__ import annotations

import numpy as np

from nearfar.place.interleaving import uniform_shares
from nearfar.place.optimiser import OPTIMISERS, Optimiser, PlacementChoice
from nearfar.place.problem import Problem


@OPTIMISERS.register("page-interleaved")
class PageInterleaved(Optimiser):
    """Place the same share of every object near, as much as the budget allows."""

    bar = "page-interleaved"
    only_bar = True

    def choose(self, problem: Problem, budget_bytes: int) -> PlacementChoice:
        """Return the budget's share of every object near, and equal shares in far memories.

        Traffic is assumed to be even over an object's pages.
        """
        footprint = problem.footprint_bytes
        near = min(1.0, budget_bytes / footprint) if footprint else 1.0
        count = len(problem.fars)
        weights = np.array([near, *[(1.0 - near) / count] * count])
        return PlacementChoice(uniform_shares(problem, budget_bytes, weights))

"""Pages dealt out between the memories, whatever is in them: what the kernel can do unaided."""

from __future__ import annotations

import numpy as np

from nearfar.place.dealt import dealt, of_all
from nearfar.place.optimiser import OPTIMISERS, Choice, Optimiser
from nearfar.place.problem import Problem


@OPTIMISERS.register("page-interleaved")
class PageInterleaved(Optimiser):
    """The same share of every object near, as much as the budget holds; far memories alike."""

    name = "page-interleaved"
    bar = "page-interleaved"
    only_bar = True

    def choose(self, problem: Problem, budget_bytes: int) -> Choice:
        """Return the budget's share of every object near.

        Traffic is taken as even over an object's pages.
        """
        footprint = problem.footprint_bytes
        near = min(1.0, budget_bytes / footprint) if footprint else 1.0
        count = len(problem.fars)
        wanted = np.array([near, *[(1.0 - near) / count] * count])
        return Choice(of_all(problem, dealt(problem, budget_bytes, wanted)))

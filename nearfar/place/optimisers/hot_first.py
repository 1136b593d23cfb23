"""Most misses per byte first: hotness, whatever the latency that each miss costs."""

from __future__ import annotations

import numpy as np

from nearfar.place.filling import fill_memories, order_by_density
from nearfar.place.optimiser import OPTIMISERS, Optimiser, PlacementChoice
from nearfar.place.problem import Problem
from nearfar.predict.traffic import misses


@OPTIMISERS.register("hot-first")
class HotFirst(Optimiser):
    """Tier by hotness with perfect knowledge of the misses."""

    bar = "hot-first"

    def choose(self, problem: Problem, budget_bytes: int) -> PlacementChoice:
        """Fill the fastest memories with the objects of most misses per byte."""
        hotness = np.sum([misses(phase.objects) for phase in problem.phases], axis=0)
        order = order_by_density(hotness, problem.sizes_bytes)
        return PlacementChoice(fill_memories(problem, order, budget_bytes))

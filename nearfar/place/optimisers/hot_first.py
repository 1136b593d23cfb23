"""Most misses per byte first: hotness, blind to how much each miss hurts."""

from __future__ import annotations

import numpy as np

from nearfar.place.optimiser import OPTIMISERS, Choice, Optimiser
from nearfar.place.order import order_by_density
from nearfar.place.problem import Problem
from nearfar.place.tiers import fill_tiers
from nearfar.predict.traffic import misses


@OPTIMISERS.register("hot-first")
class HotFirst(Optimiser):
    """What page-hotness tiering aims at, with perfect knowledge."""

    name = "hot-first"
    bar = "hot-first"

    def choose(self, problem: Problem, budget_bytes: int) -> Choice:
        """Fill the fastest memories with the objects of most misses per byte."""
        hot = np.sum([misses(phase.objects) for phase in problem.phases], axis=0)
        order = order_by_density(hot, problem.sizes_bytes)
        return Choice(fill_tiers(problem, order, budget_bytes))

"""X-Mem's greedy: most benefit per byte first, by each access pattern's effective latency.

Dulloor et al., Data Tiering in Heterogeneous Memory Systems, EuroSys 2016. Each access of a chase
pays the full latency, random accesses overlap by a fixed factor, and streams hide their latency.
The choice ignores this program's parallelism and the bandwidth. The plan's model times the choice,
like all others.
"""

from __future__ import annotations

import numpy as np

from nearfar.place.filling import fill_memories, order_by_density
from nearfar.place.optimiser import OPTIMISERS, Optimiser, PlacementChoice
from nearfar.place.problem import Problem
from nearfar.predict.model import MODELS
from nearfar.predict.traffic import Array


@OPTIMISERS.register("x-mem")
class XMemGreedy(Optimiser):
    """Fill the fastest memories by the benefit that X-Mem's model predicts."""

    bar = "x-mem"

    def choose(self, problem: Problem, budget_bytes: int) -> PlacementChoice:
        """Return the filling by X-Mem's benefit per byte over the slowest memory."""
        kind = MODELS.get("xmem")
        benefit: Array = np.zeros(len(problem.names))
        for far in problem.fars:
            models = [kind(phase, problem.near, far) for phase in problem.phases]
            added = sum(
                model.times_ns(model.phase.objects) - model.near_time_ns for model in models
            )
            benefit = np.maximum(benefit, added)
        order = order_by_density(benefit, problem.sizes_bytes)
        return PlacementChoice(fill_memories(problem, order, budget_bytes))

"""X-Mem's greedy: most benefit per byte first, by each pattern's effective latency.

Dulloor et al., Data Tiering in Heterogeneous Memory Systems, EuroSys 2016. A chase waits in full,
random accesses overlap as far as any core's do, streams hide; how far this program's own accesses
overlap, and what bandwidth allows, plays no part in its choice. The choice is timed by the plan's
model, as all are.
"""

from __future__ import annotations

import numpy as np

from nearfar.place.optimiser import OPTIMISERS, Choice, Optimiser
from nearfar.place.order import order_by_density
from nearfar.place.problem import Problem
from nearfar.place.tiers import fill_tiers
from nearfar.predict.model import MODELS
from nearfar.predict.traffic import Array


@OPTIMISERS.register("x-mem")
class XMem(Optimiser):
    """Fills the fastest memories by the benefit that X-Mem's model sees."""

    name = "x-mem"
    bar = "x-mem"

    def choose(self, problem: Problem, budget_bytes: int) -> Choice:
        """Return the filling by X-Mem's benefit per byte, over the slowest memory."""
        kind = MODELS.get("xmem")
        benefit: Array = np.zeros(len(problem.names))
        for far in problem.fars:
            models = [kind(phase, problem.near, far) for phase in problem.phases]
            added = sum(
                model.times_ns(model.phase.objects) - model.near_time_ns for model in models
            )
            benefit = np.maximum(benefit, added)
        order = order_by_density(benefit, problem.sizes_bytes)
        return Choice(fill_tiers(problem, order, budget_bytes))

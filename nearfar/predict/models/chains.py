"""The plain inversion: all misses are alike and cost what the chains curves say.

cost(k) is the cost of a miss with k chains running. Near time per miss, inverted through the near
curve, gives k; a moved miss adds the difference of both curves at that k, and page walks at hits
their time over k. Write-backs add the difference of bandwidth times; bandwidth is a lower bound.
Loads, stores, streams and computation are not distinguished: the difference to `inversion` shows
what that is worth.
"""

from __future__ import annotations

import numpy as np

from nearfar.documents.prediction import Bound
from nearfar.predict.memory import MAX_CHAINS, MemoryCosts
from nearfar.predict.model import MODELS, Model
from nearfar.predict.traffic import (
    WRITE_BACK,
    WRITE_BACK_STREAM,
    Array,
    misses,
)


@MODELS.register("chains")
class ChainsModel(Model):
    """Near time plus the difference of chains costs for each moved miss."""

    name = "chains"

    def prepare(self) -> None:
        """Compute what is the same for all placements."""
        lines = float(misses(self.total))
        per_miss_ns = self.near_time_ns / lines if lines else self.near.latency_ns
        self.chains = parallelism(self.near, per_miss_ns)

    def times_ns(self, moved: Array) -> Array:
        """Return near time plus what moved lines add, at least what bandwidth allows, ns."""
        if self.far.is_near:
            return np.full(moved.shape[:-1], self.near_time_ns)
        moved = moved * self.perturbation.lines
        longer_ns = self.far.cost_ns(self.chains) - self.near.cost_ns(self.chains)
        added = misses(moved) * (longer_ns + self.far.hit_walks_ns / self.chains)
        threads = self.phase.concurrency
        for column, pattern in ((WRITE_BACK, 0), (WRITE_BACK_STREAM, 1)):
            slower_ns = self.far.write_ns[pattern] - self.near.write_ns[pattern]
            added = added + moved[..., column] * slower_ns * threads
        return np.asarray(np.maximum(self.near_time_ns + added, self._bandwidth_ns(moved)))

    def bound(self) -> Bound:
        """Return bandwidth where only the lower bound counts, else latency."""
        floor = float(self._bandwidth_ns(self.total))
        return "bandwidth" if floor >= float(self.times_ns(self.total)) else "latency"

    def effective_parallelism(self) -> float | None:
        """Return the chains that near time implies."""
        return self.chains

    def _bandwidth_ns(self, moved: Array) -> Array:
        lines_ns = misses(moved) * self.far.read_ns[1]
        return np.asarray(lines_ns * self.phase.concurrency)


def parallelism(memory: MemoryCosts, per_miss_ns: float) -> float:
    """Return the number of chains at which a miss costs `per_miss_ns`, limited to 1..32."""
    if per_miss_ns >= memory.cost_ns(1.0):
        return 1.0
    if per_miss_ns <= memory.cost_ns(MAX_CHAINS):
        return float(MAX_CHAINS)
    # Costs never rise with the count; where they are equal, the smallest count is returned.
    costs, counts = memory.chain_costs_ns[::-1], memory.chain_counts[::-1]
    return float(2.0 ** np.interp(np.log2(per_miss_ns), np.log2(costs), np.log2(counts)))

"""Pages interleaved in the ratio of bandwidths: the kernel's weighted interleave, set well.

For bandwidth-bound programs this is the best way without a plan: all memories transfer at once.
"""

from __future__ import annotations

from nearfar.place.interleaving import bandwidth_weights, uniform_shares
from nearfar.place.optimiser import OPTIMISERS, Optimiser, PlacementChoice
from nearfar.place.problem import Problem


@OPTIMISERS.register("bandwidth-interleaved")
class BandwidthInterleaved(Optimiser):
    """Interleave every object in the ratio of sequential read bandwidths, within the budget."""

    bar = "bandwidth-interleaved"
    only_bar = True

    def choose(self, problem: Problem, budget_bytes: int) -> PlacementChoice:
        """Return the ratio's share of every object in each memory, less where one is full."""
        weights = bandwidth_weights(problem)
        return PlacementChoice(uniform_shares(problem, budget_bytes, weights))

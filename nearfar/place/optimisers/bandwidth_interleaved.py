"""Pages dealt out in the ratio of bandwidths: the kernel's weighted interleave, set well.

Best of the unaided ways for programs that bandwidth holds back: all memories serve at once.
"""

from __future__ import annotations

from nearfar.place.dealt import bandwidth_weights, dealt, of_all
from nearfar.place.optimiser import OPTIMISERS, Choice, Optimiser
from nearfar.place.problem import Problem


@OPTIMISERS.register("bandwidth-interleaved")
class BandwidthInterleaved(Optimiser):
    """Every object in the ratio of sequential read bandwidths, within the budget."""

    name = "bandwidth-interleaved"
    bar = "bandwidth-interleaved"
    only_bar = True

    def choose(self, problem: Problem, budget_bytes: int) -> Choice:
        """Return the ratio's share of every object in each memory, less where one is full."""
        return Choice(of_all(problem, dealt(problem, budget_bytes, bandwidth_weights(problem))))

"""Near, far, far, near: how one thing is timed in two memories, and what comes of the times.

What drifts linearly within a round cancels in its two ratios' mean, and the two halves of a round
are the same experiment twice: their difference is noise, the A/A floor.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from nearfar.base.statistics import Estimate, median_estimate


@dataclass(frozen=True)
class Timed:
    """One sample."""

    ns: float
    disturbed: bool = False


@dataclass
class Halves:
    """Samples of all rounds; two of each memory in every round, in the order they were taken."""

    near: list[Timed] = field(default_factory=list)
    far: list[Timed] = field(default_factory=list)

    def take_round(self, near: Callable[[], Timed], far: Callable[[], Timed]) -> None:
        """Take four samples."""
        first_near, first_far = near(), far()
        second_far, second_near = far(), near()
        self.near += [first_near, second_near]
        self.far += [first_far, second_far]

    def near_ns(self) -> Estimate:
        """Return the median time near with its 95 % interval."""
        return median_estimate(calm(self.near))

    def far_ns(self) -> Estimate:
        """Return the median time far with its 95 % interval."""
        return median_estimate(calm(self.far))

    def slowdown(self) -> Estimate:
        """Return the median ratio of neighbours in time with its 95 % interval."""
        return median_estimate(self._ratios(0) + self._ratios(1))

    def a_a(self) -> float:
        """Return how far the second halves' slowdown is from the first's, as a fraction."""
        return statistics.median(self._ratios(0)) / statistics.median(self._ratios(1)) - 1.0

    def _ratios(self, half: int) -> list[float]:
        pairs = list(zip(self.near, self.far, strict=True))[half::2]
        kept = [pair for pair in pairs if not (pair[0].disturbed or pair[1].disturbed)]
        # Where nearly all were disturbed there is nothing better; see `calm`.
        kept = kept if len(kept) >= (len(pairs) + 1) // 2 else pairs
        return [far.ns / near.ns for near, far in kept]


def calm(samples: Sequence[Timed]) -> list[float]:
    """Return the times of undisturbed samples; all, where more than half were disturbed.

    CPU time leaves out what ran in between, but not the caches that it emptied.
    """
    kept = [one.ns for one in samples if not one.disturbed]
    return kept if len(kept) >= (len(samples) + 1) // 2 else [one.ns for one in samples]

"""Near, far, far, near: how one thing is timed in two memories, and what comes of the times.

What drifts linearly within a round cancels in its two ratios' mean, and the two halves of a round
are the same experiment twice: their difference is noise, the A/A floor. Only samples of one
placement of the cores are compared (see `placement`).
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from nearfar.base.statistics import Estimate, median_estimate


@dataclass(frozen=True)
class Timed:
    """One sample."""

    ns: float
    disturbed: bool = False
    placement: int | None = 0
    """None: the cores were moved meanwhile."""


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

    def placements(self) -> list[int]:
        """Return the placements with a near sample and far ones of both halves, most far first."""
        near = {one.placement for one in self.near}
        halves = [Counter(one.placement for one in self.far[half::2]) for half in (0, 1)]
        found = [one for one in halves[0] if one is not None and one in halves[1] and one in near]
        return sorted(found, key=lambda one: (-self.count(one), one))

    def count(self, placement: int) -> int:
        """Return how many far samples are of one placement."""
        return sum(one.placement == placement for one in self.far)

    def of(self, placement: int) -> Pairs:
        """Return the pairs of one placement: each far sample with the nearest near one of it."""
        there = [i for i, one in enumerate(self.near) if one.placement == placement]
        halves: tuple[list[tuple[Timed, Timed]], list[tuple[Timed, Timed]]] = ([], [])
        for i, far in enumerate(self.far):
            if far.placement == placement:
                nearest = min(there, key=lambda other: abs(other - i))
                halves[i % 2].append((self.near[nearest], far))
        return Pairs(*halves)


@dataclass
class Pairs:
    """Neighbours in time, near and far, of the first and of the second halves of rounds."""

    first: list[tuple[Timed, Timed]]
    second: list[tuple[Timed, Timed]]

    def near(self) -> list[Timed]:
        """Return the near samples."""
        return [near for near, _ in self.first + self.second]

    def far(self) -> list[Timed]:
        """Return the far samples."""
        return [far for _, far in self.first + self.second]

    def near_ns(self) -> Estimate:
        """Return the median time near with its 95 % interval."""
        return median_estimate(calm(self.near()))

    def far_ns(self) -> Estimate:
        """Return the median time far with its 95 % interval."""
        return median_estimate(calm(self.far()))

    def slowdown(self) -> Estimate:
        """Return the median ratio of neighbours in time with its 95 % interval."""
        return median_estimate(_ratios(self.first) + _ratios(self.second))

    def a_a(self) -> float:
        """Return how far the second halves' slowdown is from the first's, as a fraction."""
        return statistics.median(_ratios(self.first)) / statistics.median(_ratios(self.second)) - 1


def _ratios(pairs: Sequence[tuple[Timed, Timed]]) -> list[float]:
    kept = [pair for pair in pairs if not (pair[0].disturbed or pair[1].disturbed)]
    # Where nearly all were disturbed there is nothing better; see `calm`.
    kept = kept if len(kept) >= (len(pairs) + 1) // 2 else list(pairs)
    return [far.ns / near.ns for near, far in kept]


def calm(samples: Sequence[Timed]) -> list[float]:
    """Return the times of undisturbed samples; all, where more than half were disturbed.

    CPU time leaves out what ran in between, but not the caches that it emptied.
    """
    kept = [one.ns for one in samples if not one.disturbed]
    return kept if len(kept) >= (len(samples) + 1) // 2 else [one.ns for one in samples]

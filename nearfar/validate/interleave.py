"""Near, far, far, near: samples of one program in two memories, and the resulting slowdown.

Linear drift within a round cancels in the mean of its two ratios. The two halves of a round are the
same experiment twice, so their difference is noise: the A/A floor. Only samples of one core pairing
are compared (see `core_pairing`).
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from nearfar.base.estimate import Estimate
from nearfar.base.statistics import median_estimate


@dataclass(frozen=True)
class TimedRun:
    """One sample."""

    ns: float
    disturbed: bool = False
    pairing: int | None = 0
    """The core pairing; None: it changed during the sample."""


@dataclass
class RoundHalves:
    """Samples of all rounds in the order they were taken; two of each memory in every round."""

    near: list[TimedRun] = field(default_factory=list)
    far: list[TimedRun] = field(default_factory=list)

    def take_round(self, near: Callable[[], TimedRun], far: Callable[[], TimedRun]) -> None:
        """Take four samples."""
        first_near, first_far = near(), far()
        second_far, second_near = far(), near()
        self.near += [first_near, second_near]
        self.far += [first_far, second_far]

    def pairings(self) -> list[int]:
        """Return the pairings with near samples and with far samples of both halves.

        Pairings with more far samples come first.
        """
        near = {run.pairing for run in self.near}
        halves = [Counter(run.pairing for run in self.far[half::2]) for half in (0, 1)]
        both = [p for p in halves[0] if p is not None and p in halves[1] and p in near]
        return sorted(both, key=lambda pairing: (-self.count(pairing), pairing))

    def count(self, pairing: int) -> int:
        """Return how many far samples are of one pairing."""
        return sum(run.pairing == pairing for run in self.far)

    def pairs(self, pairing: int) -> SamplePairs:
        """Pair each far sample of a core pairing with the near sample nearest in time."""
        near_at = [i for i, run in enumerate(self.near) if run.pairing == pairing]
        halves: tuple[list[tuple[TimedRun, TimedRun]], list[tuple[TimedRun, TimedRun]]] = ([], [])
        for i, far in enumerate(self.far):
            if far.pairing == pairing:
                nearest = min(near_at, key=lambda other: abs(other - i))
                halves[i % 2].append((self.near[nearest], far))
        return SamplePairs(*halves)


@dataclass
class SamplePairs:
    """Pairs of a near and a far sample nearest in time, for the first and second round halves."""

    first: list[tuple[TimedRun, TimedRun]]
    second: list[tuple[TimedRun, TimedRun]]

    def near(self) -> list[TimedRun]:
        """Return the near samples."""
        return [near for near, _ in self.first + self.second]

    def far(self) -> list[TimedRun]:
        """Return the far samples."""
        return [far for _, far in self.first + self.second]

    def near_ns(self) -> Estimate:
        """Return the median near time with its 95 % interval."""
        return median_estimate(undisturbed_ns(self.near()))

    def far_ns(self) -> Estimate:
        """Return the median far time with its 95 % interval."""
        return median_estimate(undisturbed_ns(self.far()))

    def slowdown(self) -> Estimate:
        """Return the median ratio of neighbours in time with its 95 % interval."""
        return median_estimate(_ratios(self.first) + _ratios(self.second))

    def a_a(self) -> float:
        """Return the slowdown of first halves over the slowdown of second halves, minus 1."""
        return statistics.median(_ratios(self.first)) / statistics.median(_ratios(self.second)) - 1


def _ratios(pairs: Sequence[tuple[TimedRun, TimedRun]]) -> list[float]:
    calm = [pair for pair in pairs if not (pair[0].disturbed or pair[1].disturbed)]
    # If more than half were disturbed, all pairs count; see `undisturbed_ns`.
    calm = calm if len(calm) >= (len(pairs) + 1) // 2 else list(pairs)
    return [far.ns / near.ns for near, far in calm]


def undisturbed_ns(samples: Sequence[TimedRun]) -> list[float]:
    """Return the times of undisturbed samples; of all, if more than half were disturbed.

    CPU time excludes other work on the core, but not the misses after that work used the caches.
    """
    calm = [run.ns for run in samples if not run.disturbed]
    return calm if len(calm) >= (len(samples) + 1) // 2 else [run.ns for run in samples]

"""A subject with a memory of its samples, a clock and a deadline; what every inference samples by.

Points of one curve are sampled in rounds, in another order each round, so that what drifts drifts
for all of them; disturbed samples are dropped.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from nearfar.measure.infer.resample import agreement, median_noise, medians

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.measure.subject import Subject, SubjectFacts
    from nearfar.samples.point import Sample, SamplePoint

Kind = TypeVar("Kind")

CALM_TRIES = 3
"""One sample in twenty is disturbed on shared machines; three in a row are one in 8,000."""

MIN_SAMPLES = 2
"""Undisturbed samples of a point without which it is left out of its curve."""


class InferenceProbe:
    """Samples points of one subject until its deadline."""

    def __init__(
        self,
        subject: Subject,
        seconds: float,
        repetitions: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Allow `seconds` from now on, and `repetitions` samples a point unless asked for more."""
        self.subject = subject
        self.facts: SubjectFacts = subject.facts()
        self.repetitions = repetitions
        self.taken: dict[SamplePoint, list[Sample]] = {}
        self.disturbed = 0
        self.out_of_time = False
        self._clock = clock
        self._deadline = clock() + seconds
        self._rng = np.random.default_rng(0)

    def seconds_left(self) -> float:
        """Return seconds until the deadline in force."""
        return self._deadline - self._clock()

    @contextmanager
    def share(self, share: float) -> Iterator[None]:
        """Allow only a share of the time that is left."""
        deadline = self._deadline
        self._deadline = self._clock() + max(self.seconds_left(), 0.0) * share
        try:
            yield
        finally:
            self._deadline = deadline

    def sample(self, point: SamplePoint) -> Sample:
        """Take one sample more, whatever the time; disturbed ones too."""
        sample = self.subject.sample(point)
        self.disturbed += sample.disturbed
        self.taken.setdefault(point, []).append(sample)
        return sample

    def calm(self, point: SamplePoint) -> Sample:
        """Take a sample that is not disturbed, or the last of three where all are.

        For single accesses in order, of which there is no median over samples: one that is slowed
        as a whole has all its periods and lengths wrong. On a busy machine all are disturbed, but
        by switches, few among the accesses; what is said must then hold in spite of them.
        """
        for _ in range(CALM_TRIES):
            sample = self.sample(point)
            if not sample.disturbed:
                break
        return sample

    def gather(
        self, points: Sequence[SamplePoint], repetitions: int = 0
    ) -> list[NDArray[np.float64]]:
        """Return undisturbed samples of each point; fewer than asked for where time is up.

        Samples taken earlier count. Empty arrays for points that could not be sampled often enough.
        """
        wanted = repetitions or self.repetitions
        for _ in range(2 * wanted):
            missing = [point for point in points if len(self.values(point)) < wanted]
            if not missing:
                break
            for index in self._rng.permutation(len(missing)):
                if self.seconds_left() <= 0:
                    self.out_of_time = True
                    return self._enough(points)
                # One a round: what a bootstrap draws from is then all the noise there is, also that
                # which lasts longer than a sample.
                self.sample(missing[index])
        return self._enough(points)

    def values(self, point: SamplePoint) -> NDArray[np.float64]:
        """Return the undisturbed values taken of a point so far."""
        taken = self.taken.get(point, ())
        return np.array([sample.value for sample in taken if not sample.disturbed], dtype=float)

    def too_few(self, what: str) -> str:
        """Return why there are too few of what was to be sampled."""
        taken = sum(len(samples) for samples in self.taken.values())
        disturbed = f"; {self.disturbed} of {taken} samples were disturbed" if taken else ""
        return f"too few {what} could be sampled in the time{disturbed}"

    def _enough(self, points: Sequence[SamplePoint]) -> list[NDArray[np.float64]]:
        by_point = [self.values(point) for point in points]
        return [values if len(values) >= MIN_SAMPLES else values[:0] for values in by_point]


SURE = 0.95
"""Share of resamples that agree from which no more samples are taken."""

DOUBLINGS = 5
"""Doublings of the repetitions while resamples disagree: 5 to 160."""


@dataclass(frozen=True)
class Agreement(Generic[Kind]):
    """A decision, the share of resamples that give the same, and what it was made from."""

    value: Kind
    share: float
    samples: list[NDArray[np.float64]]
    noise: float


def until_sure(
    probe: InferenceProbe,
    points: Sequence[SamplePoint],
    decide: Callable[[NDArray[np.float64], float], Kind],
    doublings: int = DOUBLINGS,
) -> Agreement[Kind] | None:
    """Sample `points` until resamples agree on what `decide` says of (medians, noise).

    None where the time is up before every point has its samples.
    """
    answer: Agreement[Kind] | None = None
    for doubling in range(doublings + 1):
        samples = probe.gather(points, probe.repetitions << doubling)
        if not samples or not all(map(len, samples)):
            return answer
        noise = median_noise(samples)
        value = decide(medians(samples), noise)
        share, _ = agreement(
            samples, partial(_with_noise, decide, noise), partial(operator.eq, value)
        )
        answer = Agreement(value, share, samples, noise)
        if share >= SURE or probe.seconds_left() <= 0:
            break
    return answer


def _with_noise(
    decide: Callable[[NDArray[np.float64], float], Kind], noise: float, row: NDArray[np.float64]
) -> Kind:
    return decide(row, noise)

"""The probe that every inference samples with: a subject, its samples so far, and a deadline.

Points of one curve are sampled in rounds, each in another order, so that drift is common to all;
disturbed samples are dropped.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearfar.measure.infer.resample import agreement, median_noise, medians
from nearfar.measure.subject import Subject, SubjectFacts
from nearfar.samples.point import Sample, SamplePoint

Kind = TypeVar("Kind")

MAX_TRIES = 3
"""Samples taken until one is undisturbed: on shared machines one in twenty is disturbed."""

MIN_SAMPLES = 2
"""Undisturbed samples that a point needs to be in its curve."""


class InferenceProbe:
    """A probe of one subject until a deadline."""

    def __init__(
        self,
        subject: Subject,
        seconds: float,
        repetitions: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Allow `seconds` from now on, and `repetitions` samples a point by default."""
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
        """Allow only a share of the remaining time."""
        deadline = self._deadline
        self._deadline = self._clock() + max(self.seconds_left(), 0.0) * share
        try:
            yield
        finally:
            self._deadline = deadline

    def sample(self, point: SamplePoint) -> Sample:
        """Take one more sample, whatever the time, disturbed or not."""
        sample = self.subject.sample(point)
        self.disturbed += sample.disturbed
        self.taken.setdefault(point, []).append(sample)
        return sample

    def calm(self, point: SamplePoint) -> Sample:
        """Return an undisturbed sample, or the last of three if all are disturbed.

        Use it for rows of single accesses, of which no median over samples exists: one disturbed
        row has wrong periods and lengths. On a busy machine all rows are disturbed, but by few
        context switches, which the analysis must tolerate.
        """
        for _ in range(MAX_TRIES):
            sample = self.sample(point)
            if not sample.disturbed:
                break
        return sample

    def gather(
        self, points: Sequence[SamplePoint], repetitions: int = 0
    ) -> list[NDArray[np.float64]]:
        """Return undisturbed samples of each point; fewer than requested when time runs out.

        Earlier samples count. Points with too few samples get empty arrays.
        """
        required = repetitions or self.repetitions
        for _ in range(2 * required):
            missing = [point for point in points if len(self.values(point)) < required]
            if not missing:
                break
            for index in self._rng.permutation(len(missing)):
                if self.seconds_left() <= 0:
                    self.out_of_time = True
                    return self._enough(points)
                # One sample a round: the samples then cover noise that outlasts a sample.
                self.sample(missing[index])
        return self._enough(points)

    def values(self, point: SamplePoint) -> NDArray[np.float64]:
        """Return the undisturbed values of a point so far."""
        taken = self.taken.get(point, ())
        return np.array([sample.value for sample in taken if not sample.disturbed], dtype=float)

    def too_few(self, what: str) -> str:
        """Return the reason why there are too few samples of `what`."""
        taken = sum(len(samples) for samples in self.taken.values())
        disturbed = f"; {self.disturbed} of {taken} samples were disturbed" if taken else ""
        return f"too few {what} were sampled in the time{disturbed}"

    def _enough(self, points: Sequence[SamplePoint]) -> list[NDArray[np.float64]]:
        by_point = [self.values(point) for point in points]
        return [values if len(values) >= MIN_SAMPLES else values[:0] for values in by_point]


STOP_AGREEMENT = 0.95
"""Share of agreeing resamples at which sampling stops."""

DOUBLINGS = 5
"""Doublings of the repetitions while resamples disagree: 5 to 160."""


@dataclass(frozen=True)
class Agreement(Generic[Kind]):
    """A decision, the share of resamples that agree, and its samples."""

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
    """Sample `points` until resamples agree on `decide` of (medians, noise).

    None if time runs out before every point has its samples.
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
        if share >= STOP_AGREEMENT or probe.seconds_left() <= 0:
            break
    return answer


def _with_noise(
    decide: Callable[[NDArray[np.float64], float], Kind], noise: float, row: NDArray[np.float64]
) -> Kind:
    return decide(row, noise)

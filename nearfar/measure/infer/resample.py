"""Bootstrap over samples: the share of resamples that lead to the same answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Answer = TypeVar("Answer")

RESAMPLES = 60
"""Resamples of a decision: a confidence is known to about 0.05, and decisions are slow."""

MAD_TO_SIGMA = 1.4826
"""Ratio of standard deviation to median absolute deviation, of a normal distribution."""

MEDIAN_COST = 1.2533
"""Ratio of the standard errors of median and mean, of a normal distribution: sqrt(pi / 2)."""

FAR_LARGER = 3.0
"""Ratio of a point's scatter to the others' that hardly occurs by chance with six samples."""

MIN_NOISE = 0.002
"""Minimum relative noise: equal samples of a coarse timer still have noise."""


def medians(samples: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the median of each point's samples."""
    return np.array([float(np.median(values)) for values in samples])


def resampled_medians(
    samples: Sequence[NDArray[np.float64]], resamples: int = RESAMPLES
) -> NDArray[np.float64]:
    """Return medians of samples drawn with replacement: one row for each resample."""
    rng = np.random.default_rng(0)
    columns = [
        np.median(values[rng.integers(0, len(values), (resamples, len(values)))], axis=1)
        for values in samples
    ]
    return np.stack(columns, axis=1)


def median_noise(samples: Sequence[NDArray[np.float64]]) -> float:
    """Return the relative standard error of the points' medians, pooled over points.

    From the deviations of samples from their own median: a median of medians, so that a few points
    that were disturbed do not count.
    """
    errors = []
    for values in samples:
        middle = float(np.median(values))
        if len(values) < 2 or middle <= 0:
            continue
        # Of n samples the deviations from their own median are small by about 1 - 1/n.
        spread = float(np.median(np.abs(values - middle))) * MAD_TO_SIGMA / (1 - 1 / len(values))
        errors.append(spread / middle * MEDIAN_COST / np.sqrt(len(values)))
    return max(float(np.median(errors)), MIN_NOISE) if errors else MIN_NOISE


def point_noise(samples: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the relative standard error of each point's median: pooled, or its own if far larger.

    On real memory points differ: those that the first caches serve vary by a fraction of a per
    cent, those that neighbours on a shared machine disturb by tens of per cent. With only the
    pooled error, disturbed points would look like levels.
    """
    pooled = median_noise(samples)
    own = np.array([median_noise([values]) for values in samples])
    return np.where(own > FAR_LARGER * pooled, own, pooled)


def agreement(
    samples: Sequence[NDArray[np.float64]],
    decide: Callable[[NDArray[np.float64]], Answer],
    same: Callable[[Answer], bool],
    resamples: int = RESAMPLES,
) -> tuple[float, list[Answer]]:
    """Return the share of resamples whose answer is the `same`, and all their answers."""
    answers = [decide(row) for row in resampled_medians(samples, resamples)]
    return sum(same(answer) for answer in answers) / len(answers), answers

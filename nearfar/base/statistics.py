"""Medians with bootstrap intervals; all statistics of samples go through here.

The intervals are those of `scipy.stats.bootstrap`, whose import takes longer (1 to 2 s) than what
a quick measurement computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from nearfar.base.estimate import Estimate

Array = NDArray[np.float64]

RESAMPLES = 2000
"""Bootstrap resamples: the 95 % ends of a median of <= 50 values move by < 1 % beyond this."""


def median_estimate(samples: Sequence[float], resamples: int = RESAMPLES) -> Estimate:
    """Return the median of `samples` and its 95 % bootstrap (BCa, else percentile) interval.

    One sample gives an interval of width 0; callers report the number of repetitions.
    """
    values = np.asarray(samples, dtype=float)
    if values.size == 0:
        raise ValueError("no samples")
    middle = float(np.median(values))
    if values.size < 3 or float(np.ptp(values)) == 0.0:
        return Estimate(middle, float(values.min()), float(values.max()))
    rng = np.random.default_rng(0)
    resampled = np.median(values[rng.integers(0, values.size, (resamples, values.size))], axis=1)
    low, high = np.percentile(resampled, _bca_percent(values, middle, resampled)).tolist()
    return Estimate(middle, min(low, middle), max(high, middle))


def _bca_percent(values: Array, middle: float, resampled: Array) -> tuple[float, float]:
    """Return the percentiles of `resampled` medians at a 95 % interval's ends.

    They are the bias-corrected and accelerated ones (Efron and Tibshirani, An Introduction to the
    Bootstrap, 14.3), or 2.5 and 97.5 where these are not defined.
    """
    below = (np.count_nonzero(resampled < middle) + np.count_nonzero(resampled <= middle)) / (
        2 * len(resampled)
    )
    left_out = np.array([np.median(np.delete(values, at)) for at in range(values.size)])
    deviations = (values.size - 1) * (left_out.mean() - left_out)
    spread = (float((deviations**2).sum()) / values.size**2) ** 1.5
    if not (0.0 < below < 1.0 and spread > 0.0):
        return 2.5, 97.5
    normal = NormalDist()
    bias = normal.inv_cdf(below)
    acceleration = float((deviations**3).sum()) / values.size**3 / 6 / spread
    ends = [bias + sign * normal.inv_cdf(0.975) for sign in (-1, 1)]
    low, high = (100 * normal.cdf(bias + end / (1 - acceleration * end)) for end in ends)
    return low, high


def difference_estimate(samples: Sequence[float], others: Sequence[float]) -> Estimate:
    """Return median(samples) - median(others) with its 95 % interval (percentile bootstrap).

    The nth samples of both were measured one after the other, in one round. They are resampled as a
    pair, so drift from round to round cancels. Surplus samples are left out.
    """
    count = min(len(samples), len(others))
    if count == 0:
        raise ValueError("no samples")
    values = np.asarray(samples[:count], dtype=float)
    references = np.asarray(others[:count], dtype=float)
    middle = float(np.median(values) - np.median(references))
    if count < 3:
        differences = values - references
        return Estimate(middle, float(differences.min()), float(differences.max()))
    rounds = np.random.default_rng(0).integers(0, count, (RESAMPLES, count))
    resampled = np.median(values[rounds], axis=1) - np.median(references[rounds], axis=1)
    low, high = np.percentile(resampled, (2.5, 97.5))
    return Estimate(middle, min(float(low), middle), max(float(high), middle))

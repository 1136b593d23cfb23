"""Intervals of medians are those of scipy's bootstrap."""

from __future__ import annotations

import random
import warnings
from typing import Literal

import numpy as np
import pytest
from scipy import stats

from nearfar.base.statistics import RESAMPLES, median_estimate


@pytest.mark.parametrize("count", [3, 4, 5, 8, 20, 51])
@pytest.mark.parametrize("decimals", [9, 0])
def test_intervals_are_those_of_scipy(count: int, decimals: int) -> None:
    # Few decimals make equal samples, for which scipy may have no corrected interval.
    dice = random.Random(f"{count} {decimals}")
    for _ in range(4):
        samples = [round(dice.gauss(100, 2), decimals) for _ in range(count)]
        if len(set(samples)) == 1:
            continue
        ends = scipy_interval(samples, "BCa")
        if not np.isfinite(ends).all():
            ends = scipy_interval(samples, "percentile")
        estimate = median_estimate(samples)
        assert estimate.value == np.median(samples)
        assert (estimate.low, estimate.high) == pytest.approx(ends, rel=1e-12)


def scipy_interval(
    samples: list[float], method: Literal["BCa", "percentile"]
) -> tuple[float, float]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        interval = stats.bootstrap(
            (samples,),
            np.median,
            n_resamples=RESAMPLES,
            method=method,
            rng=np.random.default_rng(0),
        ).confidence_interval
    return float(interval.low), float(interval.high)


def test_few_or_equal_samples_have_their_range() -> None:
    for samples in ([2.0], [1.0, 4.0], [3.0, 3.0, 3.0]):
        estimate = median_estimate(samples)
        assert (estimate.low, estimate.high) == (min(samples), max(samples))

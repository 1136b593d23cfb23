"""The difference of two medians that are sampled in the same rounds."""

from __future__ import annotations

import random

import pytest

from nearfar.base.statistics import difference_estimate


def test_common_drift_cancels() -> None:
    rng = random.Random(1)
    drift = [10.0 * round_ for round_ in range(20)]
    plain = [100 + moved + rng.gauss(0, 0.5) for moved in drift]
    more = [value + 7 + rng.gauss(0, 0.5) for value in plain]
    difference = difference_estimate(more, plain)
    assert difference.low <= 7.0 <= difference.high
    assert difference.high - difference.low < 4.0  # the drift is 190


def test_equal_medians_have_an_interval_that_contains_zero() -> None:
    dice = random.Random(2)
    values = [dice.gauss(100, 5) for _ in range(30)]
    others = [dice.gauss(100, 5) for _ in range(30)]
    difference = difference_estimate(values, others)
    assert difference.low <= 0 <= difference.high


def test_few_samples_span_all_their_differences() -> None:
    difference = difference_estimate([10.0, 12.0], [9.0, 9.0])
    assert (difference.value, difference.low, difference.high) == (2.0, 1.0, 3.0)
    with pytest.raises(ValueError, match="no samples"):
        difference_estimate([], [1.0])

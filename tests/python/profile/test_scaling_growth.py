"""Laws of growth are found in made-up series, and near time in made-up costs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from nearfar.base.estimate import Estimate
from nearfar.profile.scaling.growth import best_law, grow, splits
from nearfar.profile.scaling.near_time import PhaseWork, near_time

SIZES = [1e3, 2e3, 4e3, 8e3, 16e3]
TARGET = 64e3


@pytest.mark.parametrize(
    ("law", "shape"),
    [
        ("constant", lambda n: 7.0),
        ("log n", lambda n: 3 * math.log(n)),
        ("n", lambda n: 5 * n),
        ("n log n", lambda n: 2 * n * math.log(n)),
        ("n^2.50", lambda n: 0.1 * n**2.5),
        ("constant + n", lambda n: 20e3 + 5 * n),
    ],
)
def test_a_law_is_found_and_extrapolates(law: str, shape: object) -> None:
    result = grow(SIZES, [shape(n) for n in SIZES], TARGET)  # type: ignore[operator]
    assert result.law == law
    assert result.held_out_error < 1e-6
    true = shape(TARGET)  # type: ignore[operator]
    assert result.estimate.value == pytest.approx(true, rel=1e-6)
    assert result.estimate.low <= true <= result.estimate.high


def test_noise_widens_the_interval_and_it_contains_the_true_value() -> None:
    held = 0
    for seed in range(50):
        noise = np.random.default_rng(seed).normal(1.0, 0.03, len(SIZES))
        result = grow(SIZES, [2 * n * e for n, e in zip(SIZES, noise, strict=True)], TARGET)
        held += result.estimate.low <= 2 * TARGET <= result.estimate.high
        assert result.estimate.high > result.estimate.low
    assert held >= 45


def test_a_second_parameter_is_used_only_if_needed() -> None:
    others = {"constant": 2.0}
    assert best_law({**others, "n": 0.010, "n^a": 0.009}) == "n"
    assert best_law({**others, "n": 0.30, "n^a": 0.02}) == "n^a"
    assert best_law({"n": 0.02, "n log n": 0.01}, expected="n") == "n"
    assert best_law({"n": 0.20, "n log n": 0.01}, expected="n") == "n log n"


def test_larger_sizes_are_held_out_and_the_largest_from_far_below() -> None:
    assert splits([1, 2, 4, 8], 32) == [([0, 1], 2), ([0, 1, 2], 3), ([0, 1], 3)]
    assert splits([1, 2, 4], 8) == [([0, 1], 2)]


def _work(
    costs: tuple[float, float], sizes: list[float], cache: float
) -> tuple[PhaseWork, list[float]]:
    """Return a program that misses the data beyond the cache, and its times."""

    def row(n: float) -> list[float]:
        return [4 * n, 4 * n * max(0.0, 1 - cache / n)]

    counts = np.array([row(n) for n in sizes])
    at = np.array(row(TARGET))
    usual_ns = np.array([0.0, 30.0])
    work = PhaseWork(("accesses", "misses"), counts, at, at, at, usual_ns, on_demand_ns=usual_ns)
    return work, (counts @ np.array(costs)).tolist()


def test_costs_shown_by_the_sizes_are_found() -> None:
    work, times = _work((1.0, 80.0), SIZES, cache=3e3)
    result = near_time(SIZES, [Estimate(t, t, t) for t in times], work, TARGET)
    true = float(work.at_target @ np.array([1.0, 80.0]))
    assert result.estimate.value == pytest.approx(true, rel=0.1)
    assert result.estimate.low <= true <= result.estimate.high


def test_a_cache_that_no_size_exceeds_leaves_near_time_open() -> None:
    work, times = _work((1.0, 80.0), SIZES, cache=20e3)
    assert not work.counts[:, 1].any()
    result = near_time(SIZES, [Estimate(t, t, t) for t in times], work, TARGET)
    true = float(work.at_target @ np.array([1.0, 80.0]))
    assert result.estimate.low <= true <= result.estimate.high
    assert result.estimate.high > 2 * result.estimate.low


def test_new_misses_may_wait_though_earlier_ones_were_prefetched() -> None:
    """A table is filled in order and searched at random: earlier misses were in order."""
    work, times = _work((1.0, 20.0), SIZES, cache=20e3)
    prefetched = replace(work, usual_ns=0.15 * work.usual_ns)
    result = near_time(SIZES, [Estimate(t, t, t) for t in times], prefetched, TARGET)
    true = float(work.at_target @ np.array([1.0, 20.0]))
    assert result.estimate.low <= true <= result.estimate.high
    # The prefetcher's share of the time still remains.
    assert result.estimate.value < 0.9 * true

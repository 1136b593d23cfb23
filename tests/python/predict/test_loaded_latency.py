"""The crossing of a loaded-latency curve with its load, for one placement and for many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.predict.core_time import TrafficTime, core_time_ns
from nearfar.predict.loaded_latency import (
    LoadedFactor,
    interpolate,
    settled_each,
    settled_factor,
    settled_factors,
)

CURVES = st.lists(
    st.tuples(st.floats(1.0, 8.0), st.floats(0.01, 500.0), st.floats(0.0, 50.0)),
    min_size=1,
    max_size=6,
)
FACTORS = st.floats(1.0, 8.0)


@given(st.lists(FACTORS, min_size=2, max_size=12), st.floats(0.01, 500.0), st.floats(0.0, 50.0))
def test_one_and_many_placements_settle_where_the_curve_returns_its_argument(
    factors: list[float], lines: float, rest: float
):
    curve = LoadedFactor(np.arange(float(len(factors))), np.sort([1.0, *factors[1:]]))

    def asked(factor: float) -> float:
        return curve.at_one(64.0 * lines / (rest + lines * factor))

    def many(factor: np.ndarray) -> np.ndarray:
        return curve.at(64.0 * lines / (rest + lines * factor))

    outcome = settled_factor(asked, curve.greatest)
    # A steep curve's result varies widely; its argument does not.
    step = 1e-4 * curve.greatest
    assert asked(outcome - step) >= outcome - step
    assert asked(outcome + step) <= outcome + step
    assert settled_factors(many, curve.greatest, (3,)) == pytest.approx([outcome] * 3, abs=step)


@given(st.lists(st.floats(0, 1e12), min_size=12, max_size=12), st.floats(0, 1e12), FACTORS)
def test_core_time_of_numbers_equals_that_of_arrays(
    costs: list[float], other_ns: float, factor: float
):
    for of in (0, 6):  # Reads are part of all lines.
        costs[of + 4] += costs[of + 3]
    parts = [TrafficTime(*costs[:6]), TrafficTime(*costs[6:])]
    arrays = [TrafficTime(*(np.array([c, c]) for c in row)) for row in (costs[:6], costs[6:])]
    time_ns = core_time_ns(other_ns, parts, [1.0, factor])
    assert core_time_ns(other_ns, arrays, [1.0, factor]) == pytest.approx(
        [time_ns, time_ns], rel=1e-12
    )
    # At least as long as each required wait, at most as long as all of them in sequence.
    alone = [other_ns, parts[0].all_lines, parts[1].all_lines, costs[1] + costs[7]]
    assert time_ns >= max(alone) * (1 - 1e-9)


@given(st.floats(-2.0, 12.0))
def test_interpolation_equals_numpys(x: float):
    xs, ys = [0.0, 1.0, 1.5, 9.0], [4.0, 2.0, 2.0, -1.0]
    assert interpolate(x, xs, ys) == pytest.approx(float(np.interp(x, xs, ys)), abs=1e-12)


@given(CURVES)
def test_each_of_many_curves_settles_as_it_does_alone(curves: list[tuple[float, float, float]]):
    loads = [LoadedFactor(np.arange(3.0), np.array([1.0, 1.0, last])) for last, _, _ in curves]
    drawn = [64.0 * lines for _, lines, _ in curves]
    rest = [other / lines for _, lines, other in curves]

    def each(factors: np.ndarray) -> np.ndarray:
        times = zip(loads, drawn, rest, factors, strict=True)
        return np.array([load.at(gb / (other + factor)) for load, gb, other, factor in times])

    together = settled_each(each, np.array([load.greatest for load in loads]))
    for load, gb, other, factor in zip(loads, drawn, rest, together, strict=True):
        alone = settled_factor(
            lambda tried, load=load, gb=gb, other=other: load.at_one(gb / (other + tried)),
            load.greatest,
        )
        assert factor == pytest.approx(alone, rel=1e-6)

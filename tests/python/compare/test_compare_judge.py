"""Rates of alarms without and with a difference, the limit, the correction for many figures."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_examples import examples

from nearfar.compare.api import BLIND, corrected, judge
from nearfar.compare.difference import ALPHA, difference, p_value
from nearfar.compare.junit import text_of
from nearfar.compare.kind import ComparedValue

PAIRS = 40


def times(rng: np.random.Generator, factor: float, runs: int = 10) -> ComparedValue:
    """Return times with a fast floor and rare slow runs, as real machines have."""
    samples = factor * 1e9 * (1.0 + rng.gamma(2.0, 0.006, runs) + 0.1 * (rng.random(runs) < 0.05))
    return ComparedValue("time", "run", "ns", float(np.median(samples)), samples=tuple(samples))


def test_equal_programs_seldom_differ_and_five_percent_is_detected() -> None:
    rng = np.random.default_rng(1)
    alarms = result = 0
    for _ in range(PAIRS):
        families = [
            (
                ComparedValue(f"family {i}", "x", "ns", a.value, samples=a.samples),
                ComparedValue(f"family {i}", "x", "ns", b.value, samples=b.samples),
            )
            for i in range(2)
            for a, b in [(times(rng, 1.0), times(rng, 1.0))]
        ]
        changes = judge(families, limit=0.0, correction="holm", same_machine=True)
        alarms += any(change.verdict != "same" for change in changes)
        pair = (times(rng, 1.0), times(rng, 1.05))
        result += judge([pair], limit=0.02, correction="holm", same_machine=True)[0].over_limit
    assert alarms <= 0.05 * PAIRS
    assert result >= 0.9 * PAIRS


def test_too_few_repetitions_are_reported_and_not_judged() -> None:
    few = ComparedValue("time", "run", "ns", 1.0, samples=(1.0, 1.1))
    many = ComparedValue("time", "run", "ns", 9.0, samples=(9.0, 9.1, 9.2, 9.3, 9.4))
    (change,) = judge([(few, many)], limit=0.05, correction="holm", same_machine=True)
    assert (change.verdict, change.over_limit) == ("not judged", False)
    assert "3 or more" in change.note


def many(
    rng: np.random.Generator, factor: float, runs: int
) -> list[tuple[ComparedValue, ComparedValue]]:
    """Return 36 figures of both sides; B's are `factor` times A's, with noise of 3 %."""
    sides = [factors * np.exp(rng.normal(0.0, 0.03, (36, runs))) for factors in (1.0, factor)]
    first, two = (
        [
            ComparedValue("time", f"cell {i}", "ns", float(np.median(row)), samples=tuple(row))
            for i, row in enumerate(side)
        ]
        for side in sides
    )
    return list(zip(first, two, strict=True))


@pytest.mark.parametrize("runs", [3, 5, 6])
def test_a_large_change_of_many_figures_is_detected_with_few_repetitions(runs: int) -> None:
    changes = judge(
        many(np.random.default_rng(runs), 10.0, runs),
        limit=0.05,
        correction="holm",
        same_machine=True,
    )
    assert all(change.over_limit for change in changes)
    same = many(np.random.default_rng(runs), 1.0, runs)
    for limit, sentence in ((0.01, True), (50.0, False)):
        changes = judge(same, limit=limit, correction="holm", same_machine=True)
        assert any(change.note.startswith(BLIND) for change in changes) == sentence


def test_equal_programs_of_many_figures_and_few_repetitions_seldom_differ() -> None:
    rng = np.random.default_rng(3)
    together = 36
    alarms = 0
    for _ in range(100):
        ps = [
            p_value(np.asarray(a.samples), np.asarray(b.samples), together)
            for a, b in many(rng, 1.0, 5)
        ]
        alarms += min(corrected(ps, "holm")) < ALPHA
    # An exact test expects 5; 15 or more have a probability below 1/5000.
    assert alarms < 15


@given(st.integers(3, 30), st.integers(3, 30), st.integers(1, 100))
def test_completely_different_figures_are_always_detected(
    ones: int, twos: int, together: int
) -> None:
    rng = np.random.default_rng(ones)
    a, b = np.exp(rng.normal(0.0, 0.01, ones)), 10.0 * np.exp(rng.normal(0.0, 0.01, twos))
    assert p_value(a, b, together) * together < ALPHA


def test_a_lower_bandwidth_is_worse_and_a_part_counts_by_its_share() -> None:
    exact = {"sigma": 0.0}
    falls = (
        ComparedValue("bandwidth", "read", "GB/s", 10.0, "less", **exact),  # type: ignore[arg-type]
        ComparedValue("bandwidth", "read", "GB/s", 9.0, "less", **exact),  # type: ignore[arg-type]
    )
    # An object with 1 % of the misses has twice as many: 1 % more in total.
    part = (
        ComparedValue("objects", "small", "misses", 10.0, total=1000.0, **exact),  # type: ignore[arg-type]
        ComparedValue("objects", "small", "misses", 20.0, total=1000.0, **exact),  # type: ignore[arg-type]
    )
    changes = judge([falls, part], limit=0.05, correction="holm", same_machine=True)
    assert [(each.verdict, each.over_limit) for each in changes] == [
        ("worse", True),
        ("worse", False),
    ]
    assert changes[1].change == pytest.approx(0.01)
    assert changes[1].own_change == pytest.approx(1.0)
    assert (changes[0].part, changes[0].own_change) == (False, None)


def test_a_part_that_was_0_has_a_share_and_no_relative_change() -> None:
    before, now = (
        ComparedValue("objects", "new", "misses", count, sigma=0.0, total=1000.0)
        for count in (0.0, 10.0)
    )
    (change,) = judge([(before, now)], limit=None, correction="holm", same_machine=True)
    assert text_of(change) == "A 0 B 10 +1.0 % of all (exact) worse"


def test_few_runs_widen_the_interval() -> None:
    a = ComparedValue("time", "run", "ns", 100.0, sigma=1.0)
    b = ComparedValue("time", "run", "ns", 104.0, sigma=1.0)
    few = ComparedValue("time", "run", "ns", 104.0, sigma=1.0, repetitions=3)
    known, guessed = difference(a, b), difference(a, few)
    assert known.p is not None
    assert guessed.p is not None
    assert known.p < 0.05 < guessed.p
    assert known.low is not None
    assert guessed.low is not None
    assert guessed.low < known.low


@examples(50)
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30))
def test_corrections_never_shrink_p_values_and_keep_their_order(ps: list[float]) -> None:
    from scipy import stats

    for correction in ("holm", "benjamini-hochberg"):
        fixed = corrected(ps, correction)
        assert all(p <= q <= 1.0 for p, q in zip(ps, fixed, strict=True))
        order = sorted(range(len(ps)), key=lambda i: ps[i])
        assert all(fixed[i] <= fixed[j] + 1e-12 for i, j in itertools.pairwise(order))
    assert corrected(ps, "benjamini-hochberg") == pytest.approx(stats.false_discovery_control(ps))
    assert min(corrected(ps, "holm")) == pytest.approx(min(1.0, min(ps) * len(ps)))

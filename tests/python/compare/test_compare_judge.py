"""Alarms: rarely without a difference, nearly always with one; the limit; the correction."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearfar.compare.figure import Figure
from nearfar.compare.judge import corrected, difference, judge

PAIRS = 40


def times(rng: np.random.Generator, factor: float, runs: int = 10) -> Figure:
    """Times with a fast floor and rare slow runs, as machines give them."""
    samples = factor * 1e9 * (1.0 + rng.gamma(2.0, 0.006, runs) + 0.1 * (rng.random(runs) < 0.05))
    return Figure("time", "run", "ns", float(np.median(samples)), samples=tuple(samples))


def test_equal_things_seldom_differ_and_five_percent_is_seen() -> None:
    rng = np.random.default_rng(1)
    alarms = found = 0
    for _ in range(PAIRS):
        families = [
            (
                Figure(f"family {i}", "x", "ns", a.value, samples=a.samples),
                Figure(f"family {i}", "x", "ns", b.value, samples=b.samples),
            )
            for i in range(2)
            for a, b in [(times(rng, 1.0), times(rng, 1.0))]
        ]
        changes = judge(families, limit=0.0, correction="holm", same_machine=True)
        alarms += any(change.verdict != "same" for change in changes)
        pair = (times(rng, 1.0), times(rng, 1.05))
        found += judge([pair], limit=0.02, correction="holm", same_machine=True)[0].over_limit
    assert alarms <= 0.05 * PAIRS
    assert found >= 0.9 * PAIRS


def test_too_few_repetitions_are_said_and_not_judged() -> None:
    few = Figure("time", "run", "ns", 1.0, samples=(1.0, 1.1, 0.9))
    many = Figure("time", "run", "ns", 9.0, samples=(9.0, 9.1, 9.2, 9.3, 9.4))
    (change,) = judge([(few, many)], limit=0.05, correction="holm", same_machine=True)
    assert (change.verdict, change.over_limit) == ("not judged", False)
    assert "4 or more" in change.note


def test_a_bandwidth_that_falls_is_worse_and_a_part_counts_by_its_share() -> None:
    exact = {"sigma": 0.0}
    falls = (
        Figure("bandwidth", "read", "GB/s", 10.0, "less", **exact),  # type: ignore[arg-type]
        Figure("bandwidth", "read", "GB/s", 9.0, "less", **exact),  # type: ignore[arg-type]
    )
    # Twice as many misses in an object that has a hundredth of them are one per cent.
    part = (
        Figure("objects", "small", "misses", 10.0, whole=1000.0, **exact),  # type: ignore[arg-type]
        Figure("objects", "small", "misses", 20.0, whole=1000.0, **exact),  # type: ignore[arg-type]
    )
    changes = judge([falls, part], limit=0.05, correction="holm", same_machine=True)
    assert [(one.verdict, one.over_limit) for one in changes] == [("worse", True), ("worse", False)]
    assert changes[1].change == pytest.approx(0.01)


def test_few_runs_widen_what_an_interval_says() -> None:
    a = Figure("time", "run", "ns", 100.0, sigma=1.0)
    b = Figure("time", "run", "ns", 104.0, sigma=1.0)
    few = Figure("time", "run", "ns", 104.0, sigma=1.0, repetitions=3)
    known, guessed = difference(a, b), difference(a, few)
    assert known.p is not None
    assert guessed.p is not None
    assert known.p < 0.05 < guessed.p
    assert known.low is not None
    assert guessed.low is not None
    assert guessed.low < known.low


@settings(max_examples=50, deadline=None)
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

"""Grouped conformal quantiles: coverage on made-up exchangeable data, and edge cases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_examples import examples

from nearfar.validate.conformal import (
    grouped_quantile,
    interval_score,
    leave_group_out,
    min_groups,
)


def test_nine_groups_are_the_minimum_for_ninety_percent() -> None:
    assert min_groups(0.9) == 9
    assert min_groups(0.5) == 1
    names = [str(i) for i in range(9)]
    assert grouped_quantile(list(range(9)), names, 0.9) == 8
    assert grouped_quantile(list(range(8)), names[:8], 0.9) == math.inf


def test_with_single_members_it_is_the_ordinary_conformal_quantile() -> None:
    scores = [5.0, 1.0, 4.0, 2.0, 3.0, 9.0, 7.0, 8.0, 6.0]
    # ceil((n + 1) level) of n = 9 at 0.8 is the eighth smallest.
    assert grouped_quantile(scores, [str(score) for score in scores], 0.8) == 8.0


def test_a_group_of_many_weighs_as_much_as_a_group_of_one() -> None:
    scores = [1.0, *[10.0] * 50, 2.0]
    groups = ["a", *["b"] * 50, "c"]
    # Each group and the new one have a share of 1/4: a and c reach half.
    assert grouped_quantile(scores, groups, 0.5) == 2.0


def test_a_result_is_judged_by_other_groups_only() -> None:
    scores = [1.0, 1.0, 100.0, 100.0]
    groups = ["a", "b", "c", "c"]
    assert leave_group_out(scores, groups, 0.5) == [100.0, 100.0, 1.0, 1.0]


@examples(25)
@given(
    seed=st.integers(0, 2**32 - 1),
    groups=st.integers(12, 25),
    members=st.integers(1, 6),
    spread=st.floats(0.0, 3.0),
    shape=st.sampled_from(["normal", "cauchy", "constant"]),
)
def test_coverage_holds_for_exchangeable_groups(
    seed: int, groups: int, members: int, spread: float, shape: str
) -> None:
    """This holds for any distribution and any similarity within a group."""
    rng = np.random.default_rng(seed)
    covered = []
    for _ in range(200):
        if shape == "constant":
            scores = np.ones((groups + 1, members))
        else:
            draw = rng.standard_normal if shape == "normal" else rng.standard_cauchy
            scores = np.abs(spread * draw((groups + 1, 1)) + draw((groups + 1, members)))
        names = [str(i) for i in range(groups) for _ in range(members)]
        quantile = grouped_quantile(scores[:groups].ravel().tolist(), names, 0.9)
        covered.append(float(np.mean(scores[groups] <= quantile)))
    # Three standard errors of 200 draws of a share of at least 0.9.
    assert np.mean(covered) >= 0.9 - 3 * max(np.std(covered), 0.02) / math.sqrt(200)


def test_intervals_are_not_needlessly_wide() -> None:
    dice = np.random.default_rng(1)
    covered = []
    for _ in range(2000):
        scores = np.abs(dice.standard_normal(20))
        quantile = grouped_quantile(scores[:19].tolist(), [str(i) for i in range(19)], 0.9)
        covered.append(scores[19] <= quantile)
    # The share is exactly 18/20 for continuous scores and 19 groups.
    assert np.mean(covered) == pytest.approx(0.9, abs=0.02)


def test_the_interval_score_is_the_width_plus_ten_times_each_miss() -> None:
    assert interval_score(1.0, 2.0, 1.5, 0.9) == pytest.approx(1.0)
    assert interval_score(1.0, 2.0, 2.1, 0.9) == pytest.approx(1.0 + 20 * 0.1)
    assert interval_score(1.0, 2.0, 0.9, 0.9) == pytest.approx(1.0 + 20 * 0.1)

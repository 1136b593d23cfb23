"""Groups of threads on shared channels: limits for any memories, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.predict.shared_channels import (
    Scaling,
    ThreadGroup,
    limited,
    mixed_scaling,
    shared_bandwidth,
)

rate = st.floats(0.1, 50.0)
scalings = st.builds(
    Scaling, one_thread=rate, capacity=st.floats(5.0, 500.0), sharpness=st.floats(1.0, 10.0)
)
groups = st.builds(ThreadGroup, threads=st.integers(1, 64), scaling=scalings)


def test_small_demand_is_met_and_large_demand_is_limited_to_capacity() -> None:
    law = Scaling(one_thread=1.0, capacity=100.0, sharpness=3.0)
    assert float(limited(0.1, law)) == pytest.approx(0.1, rel=1e-6)
    assert float(limited(1e6, law)) == pytest.approx(100.0, rel=1e-6)
    assert float(limited(0.0, law)) == 0.0


def test_at_the_knee_both_bounds_count_equally() -> None:
    # D = C: (2 C^-p)^(-1/p) = C 2^(-1/p).
    law = Scaling(one_thread=1.0, capacity=80.0, sharpness=2.0)
    assert float(law.at(80)) == pytest.approx(80.0 / np.sqrt(2.0))


@given(groups)
def test_a_single_group_follows_its_own_law(group: ThreadGroup) -> None:
    (drawn,) = shared_bandwidth([group])
    assert drawn == pytest.approx(float(group.scaling.at(group.threads)), rel=1e-6)


@given(scalings, st.integers(1, 30), st.integers(1, 30))
def test_a_group_in_two_halves_equals_the_group(law: Scaling, first: int, second: int) -> None:
    apart = shared_bandwidth([ThreadGroup(first, law), ThreadGroup(second, law)])
    assert sum(apart) == pytest.approx(float(law.at(first + second)), rel=1e-6)
    assert apart[0] / first == pytest.approx(apart[1] / second, rel=1e-6)


@given(st.lists(groups, min_size=1, max_size=4))
def test_the_channels_never_carry_more_than_their_capacity(several: list[ThreadGroup]) -> None:
    use = sum(
        drawn / group.scaling.capacity
        for drawn, group in zip(shared_bandwidth(several), several, strict=True)
    )
    assert use <= 1.0 + 1e-9


@given(groups, groups)
def test_competition_never_helps_and_starves_nobody(one: ThreadGroup, other: ThreadGroup) -> None:
    together = shared_bandwidth([one, other])
    assert 0.0 < together[0] <= one.threads * one.scaling.one_thread * (1 + 1e-9)
    assert 0.0 < together[1] <= other.threads * other.scaling.one_thread * (1 + 1e-9)


@given(scalings, st.floats(1.1, 5.0), st.integers(2, 16))
def test_of_two_kinds_of_threads_the_faster_alone_is_the_faster_together(
    law: Scaling, factor: float, threads: int
) -> None:
    faster = Scaling(law.one_thread * factor, law.capacity, law.sharpness)
    slow, fast = shared_bandwidth([ThreadGroup(threads, law), ThreadGroup(threads, faster)])
    assert slow < fast <= factor * slow * (1 + 1e-9)


def test_groups_without_threads_draw_nothing_and_change_nothing() -> None:
    law = Scaling(5.0, 40.0, 2.0)
    assert shared_bandwidth([ThreadGroup(0, law), ThreadGroup(8, law)]) == pytest.approx(
        [0.0, float(law.at(8))]
    )
    assert shared_bandwidth([]) == []
    assert shared_bandwidth([ThreadGroup(0, law)]) == [0.0]


def test_mixed_work_takes_the_sum_of_both_times() -> None:
    result = mixed_scaling(Scaling(10.0, 60.0, 2.0), Scaling(5.0, 30.0, 4.0))
    assert result.one_thread == pytest.approx(2 / (1 / 10 + 1 / 5))
    assert result.capacity == pytest.approx(2 / (1 / 60 + 1 / 30))
    assert result.sharpness == pytest.approx(3.0)

"""Levels in noisy made-up curves: found where they are, none where none is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_examples import examples

from nearfar.measure.infer.levels import Medians, find_levels
from nearfar.measure.infer.miss_curves import lru_misses, power_misses, random_misses
from nearfar.measure.infer.sizes import neighbours, sizes

REGIONS = np.array(sizes(1024, 1 << 30, 2), dtype=float)
SHAPES = {
    "lru": lambda ratio: lru_misses(ratio, 16),
    "random": random_misses,
    "resident": lambda ratio: power_misses(ratio, 1.0),
}


def noisy(latency, spread, seed):
    return latency * np.exp(spread * np.random.default_rng(seed).standard_normal(len(latency)))


@examples(60)
@given(
    base=st.floats(1, 400),
    spread=st.floats(0.001, 0.03),
    seed=st.integers(0, 10**6),
    slope=st.floats(0, 0.003),
)
def test_a_flat_curve_has_no_level(base, spread, seed, slope):
    # The slope of 0.3 % per octave is that of slowly growing page walks.
    latency = base * (1 + slope * np.log2(REGIONS / REGIONS[0]))
    assert find_levels(Medians(REGIONS, noisy(latency, spread, seed), spread)).levels == ()


@examples(60)
@given(
    capacity=st.floats(8192, 1 << 26),
    step=st.floats(1.3, 3.0),
    shape=st.sampled_from(sorted(SHAPES)),
    spread=st.floats(0.001, 0.01),
    seed=st.integers(0, 10**6),
)
def test_a_single_level_is_found_near_its_capacity(capacity, step, shape, spread, seed):
    latency = 100 * (1 + (step - 1) * SHAPES[shape](REGIONS / capacity))
    result = find_levels(Medians(REGIONS, noisy(latency, spread, seed), spread))
    assert len(result.levels) == 1
    # The tested sizes are half an octave apart, and the knee is soft.
    assert 1 / 1.5 <= result.levels[0].capacity_bytes / capacity <= 1.5
    assert result.first_ns == pytest.approx(100, rel=0.03)


def test_three_levels_of_different_sharpness():
    latency = (
        1.2
        + 3.8 * lru_misses(REGIONS / 49152, 8)
        + 170 * random_misses(REGIONS / 1.5e6)
        + 130 * power_misses(REGIONS / 48e6, 1.0)
    )
    result = find_levels(Medians(REGIONS, noisy(latency, 0.005, 3), 0.005))
    capacities = [level.capacity_bytes for level in result.levels]
    assert capacities == pytest.approx([49152, 1.5e6, 48e6], rel=0.3)


def test_sizes_include_powers_of_two_and_others_between():
    result = sizes(1024, 8192, 8)
    assert {1024, 2048, 4096, 8192} <= set(result)
    assert max(b / a for a, b in pairwise(result)) < 1.15
    assert neighbours(result, 4096) == (4096, 4480)
    assert neighbours(result, 4097)[0] == 4096


@pytest.mark.parametrize("ratio", [1.05, 1.3, 2.0, 4.0])
def test_random_misses_equal_those_of_a_simulated_buffer(ratio):
    rng = np.random.default_rng(5)
    capacity = 256
    blocks = round(capacity * ratio)
    held: list[int] = []
    order = rng.permutation(blocks)
    misses = 0
    for turn in range(30):
        for block in order:
            if block in held:
                continue
            misses += turn >= 10
            if len(held) < capacity:
                held.append(block)
            else:
                held[rng.integers(capacity)] = block
    share = misses / (20 * blocks)
    assert share == pytest.approx(float(random_misses(np.array([blocks / capacity]))[0]), abs=0.03)

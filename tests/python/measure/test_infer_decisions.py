"""Blocks, ways, replacement and interleaves inferred from made-up noisy curves."""

from __future__ import annotations

import numpy as np
import pytest

from nearfar.measure.infer.interleave import find_interleave, strides, touched
from nearfar.measure.infer.miss_curves import lru_misses, power_misses, random_misses
from nearfar.measure.infer.structure import (
    ACCESSES,
    LINES,
    RATIOS,
    decide_replacement,
    find_block,
    lines_knee,
)

SIZES = np.array(ACCESSES, dtype=float)


def noisy(values, spread, seed=1):
    return values * np.exp(spread * np.random.default_rng(seed).standard_normal(len(values)))


@pytest.mark.parametrize("block", ACCESSES)
def test_ns_per_line_stops_falling_at_the_block(block):
    curve = noisy(180 + 130 * 64 / np.minimum(SIZES, block), 0.003)
    assert find_block(ACCESSES, curve, 0.003, 125.0).size_bytes == block


@pytest.mark.parametrize("block", [64, 256, 1024, 4096])
def test_the_block_of_a_second_buffer_behind_a_first_of_256(block):
    curve = 180 + 130 * 64 / np.minimum(SIZES, 256) + 70 * 64 / np.minimum(SIZES, block)
    result = find_block(ACCESSES, noisy(curve, 0.001), 0.001, 70.0, [(256, 130.0)])
    assert result.size_bytes == block


def test_a_prefetcher_is_not_taken_for_a_block():
    # A prefetched stream is nearly free, though a miss costs 80 ns.
    curve = noisy(5 + 75 * (64 / SIZES) ** 1.5, 0.005)
    result = find_block(ACCESSES, curve, 0.005, 30.0)
    assert result.size_bytes is None
    assert "no block size explains" in result.why_not


@pytest.mark.parametrize(("kind", "ways"), [("lru", 2), ("lru", 4), ("lru", 16), ("random", None)])
def test_replacement_is_inferred_from_the_misses_just_beyond_the_capacity(kind, ways):
    ratios = np.array(RATIOS)
    misses = random_misses(ratios * 1.03) if kind == "random" else lru_misses(ratios * 1.03, ways)
    curve = noisy(180 + 130 * misses, 0.01)
    assert decide_replacement(ratios, curve, 0.01) == kind


def test_an_unknown_replacement_is_other():
    ratios = np.array(RATIOS)
    misses = np.where(ratios > 1, 0.5, 0.0)
    misses[-1] = 1.0
    assert decide_replacement(ratios, 180 + 130 * misses, 0.003) == "other"


@pytest.mark.parametrize("ways", [1, 2, 3, 4, 8, 12, 16])
@pytest.mark.parametrize("kind", ["lru", "random"])
def test_lines_of_one_set_overflow_at_its_ways(ways, kind):
    lines = np.array(LINES, dtype=float)
    lru = (lines > ways).astype(float)
    misses = lru if kind == "lru" else random_misses(lines / ways)
    curve = noisy(175 + 135 * misses, 0.003)
    result = lines_knee(lines, curve, 0.003, 175.0, 135.0).lines
    if ways == 1:
        # Already two lines conflict: no count of lines hits.
        assert result in (1, None)
    else:
        assert result == ways


def test_no_ways_are_inferred_where_all_lines_hit():
    lines = np.array(LINES, dtype=float)
    assert lines_knee(lines, noisy(lines * 0 + 175, 0.01), 0.01, 175.0, 135.0).lines is None


@pytest.mark.parametrize(("stride", "expected"), [(4096, 6), (8192, 3), (12288, 2), (24576, 1)])
def test_a_stride_uses_devices_over_their_greatest_common_divisor(stride, expected):
    assert touched(stride, 4096, 6) == expected


@pytest.mark.parametrize("devices", [2, 3, 4, 6, 8])
@pytest.mark.parametrize("granularity", [256, 1024, 4096])
def test_interleave_is_inferred_from_strides(devices, granularity):
    steps = np.array(strides())
    busy = np.array([touched(int(step), granularity, devices) for step in steps])
    bandwidth = noisy(np.minimum(3.0 * busy, 17.0), 0.015)
    result = find_interleave(steps, bandwidth, 0.015)
    assert (result.devices, result.granularity_bytes) == (devices, granularity)


@pytest.mark.parametrize(
    "curve",
    [
        lambda step: step * 0 + 10.0,
        lambda step: 10 / (1 + step / 20000),
        lambda step: np.where(step < 4096, 10.0, 6.0),
        # Sets and banks make powers of two slow, at any size.
        lambda step: np.where(np.log2(step) % 1 == 0, 7.0, 10.0),
    ],
    ids=["flat", "falling", "pages", "powers of two"],
)
def test_no_interleave_is_inferred_without_one(curve):
    steps = np.array(strides())
    result = find_interleave(steps, noisy(curve(steps.astype(float)), 0.02), 0.02)
    assert result.devices is None
    assert result.why_not


def test_no_misses_occur_within_the_capacity():
    assert power_misses(np.array([0.5, 1.0, 2.0]), 1.0) == pytest.approx([0, 0, 0.5])

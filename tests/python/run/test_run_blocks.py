"""Ratios of the turns of live processes, as in the rows of `--adapt`, on made-up times."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.blocks import ratio


def times(slower: float, noise: float, luck: float = 0.0) -> dict[str, list[list[int]]]:
    """Return 7 lives of 24 blocks on a machine that drifts threefold.

    `noise` is that of single turns, `luck` that of processes.
    """
    rng = random.Random(7)
    results: dict[str, list[list[int]]] = {"adapted": [], "static": [], "static again": []}
    for _ in range(7):
        drifts = [rng.uniform(1, 3) for _ in range(24)]
        for arm, lives in results.items():
            own = 6e7 * (slower if arm == "adapted" else 1.0) * rng.lognormvariate(0, luck)
            lives.append([round(drift * own * rng.lognormvariate(0, noise)) for drift in drifts])
    return results


STATIC = ("static", "static again")


def test_effects_common_to_a_block_cancel() -> None:
    result = ratio(times(1.04, 0.0), "adapted", STATIC)
    assert [result.low, result.value, result.high] == pytest.approx([1.04] * 3, rel=1e-6)


def test_two_percent_are_detected_in_noise_of_four() -> None:
    slow, same = times(1.02, 0.04), times(1.0, 0.04)
    result = ratio(slow, "adapted", STATIC)
    assert 1.0 < result.low < 1.02 < result.high < 1.04
    result = ratio(same, "adapted", STATIC)
    assert result.low < 1.0 < result.high < 1.02
    result = ratio(same, "static again", STATIC[:1])
    assert result.low < 1.0 < result.high


def test_the_luck_of_processes_is_in_the_interval() -> None:
    """Many blocks of few processes seem precise but share the processes' luck."""
    result = ratio(times(1.0, 0.0, luck=0.03), "adapted", STATIC)
    assert result.high - result.low > 0.03
    assert result.low < 1.0 < result.high

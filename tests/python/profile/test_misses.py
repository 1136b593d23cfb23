"""Misses and write-backs of kernels with known counts, at several rates."""

from __future__ import annotations

import pytest
from by_hand import Build, Run

LLC = 1 << 20


@pytest.mark.parametrize("rate_log2", [0, 2, 6])
def test_an_array_that_fits_misses_once_and_a_large_one_always(
    build: Build, run: Run, rate_log2: int
) -> None:
    # 512 KiB fits the cache of 1 MiB; 4 MiB thrashes under LRU.
    result = run(build("arrays.c", rate_log2=rate_log2), "512", "10", "4096", "3", llc=LLC)
    hot_lines, cold_lines = 512 * 16, 4096 * 16
    assert result.of("make_hot", "fill").write_misses.stream == hot_lines
    assert result.of("make_cold", "fill").write_misses.stream == cold_lines
    assert result.of("make_hot", "hot").read_misses.stream == hot_lines  # fill(cold) evicted it
    assert result.of("make_cold", "cold").read_misses.stream == 3 * cold_lines
    assert result.of("make_hot", "cold").read_misses.total() == 0
    # Every line was written once and written back once, including the line of malloc's header.
    header = 1 << rate_log2
    assert result.of("make_hot").write_backs - hot_lines in (0, header)
    assert result.of("make_cold").write_backs - cold_lines in (0, header)


@pytest.mark.parametrize("rate_log2", [0, 6])
def test_accesses_are_counted_one_by_one(build: Build, run: Run, rate_log2: int) -> None:
    result = run(build("arrays.c", rate_log2=rate_log2), "512", "10", "64", "3", llc=LLC)
    assert result.of("make_hot", "hot").accesses == 10 * 512 * 128
    assert result.of("make_cold", "cold").accesses == 3 * 64 * 128


def test_a_rate_above_64_is_right_on_average(build: Build, run: Run) -> None:
    result = run(build("arrays.c", rate_log2=8), "512", "1", "65536", "2", llc=LLC)
    assert result.of("make_cold", "cold").read_misses.stream == pytest.approx(
        2 * 65536 * 16, rel=0.1
    )


def test_attribution_is_exact(build: Build, run: Run) -> None:
    result = run(build("arrays.c"), "256", "4", "8192", "1", llc=LLC)
    sizes = {"make_hot": 256 << 10, "make_cold": 8192 << 10}
    for name, size in sizes.items():
        item = result.named(name)
        assert item.kind == "heap"
        assert item.allocations == 1
        # The allocator's header and rounding belong to the block.
        assert size <= item.peak_live_bytes <= size + 4096
    assert len(result.phases) == 5

"""Page walks, misses of private caches and transfers between cores, with known counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from by_hand import Build, Result, Run

from nearfar.documents.workload import Traffic

KIB = 1 << 10
LINES = KIB // 64
LLC = 64 << 20
NEAR_ENOUGH = 0.2
"""1024 of the 4096 pages of 16 MiB are sampled: one sigma is 2.7 %."""


def all_of(result: Result, part: str, count: Callable[[Traffic], float]) -> float:
    """Return a count of the objects with that name, summed over all phases."""
    wanted = {each.id for each in result.objects if part in each.name}
    return sum(count(row) for (_, each), row in result.traffic.objects.items() if each in wanted)


def test_lines_written_by_a_thread_go_to_the_other_once(build: Build, run: Run) -> None:
    size_kib = 16384
    result = run(build("handover.c"), str(size_kib), llc=LLC)
    transfers = all_of(result, "make_array", lambda row: row.transfers)
    # At the second read the lines are in the reader's cache.
    assert transfers == pytest.approx(size_kib * LINES, rel=NEAR_ENOUGH)
    private = all_of(result, "make_array", lambda row: row.private_misses)
    header = result.files[0].header
    if 0 < int(header["private_bytes"]) <= 4 << 20:
        # A private cache much smaller than the array keeps nothing of it: written once, read twice.
        assert private == pytest.approx(3 * size_kib * LINES, rel=NEAR_ENOUGH)
        # The shared cache keeps everything: it misses once. The array begins behind the allocator's
        # header, so it ends in one line more, which is sampled once in 64 runs.
        misses = result.of("make_array").write_misses.total()
        assert size_kib * LINES <= misses <= size_kib * LINES + 64


def test_a_single_thread_transfers_no_lines(build: Build, run: Run) -> None:
    result = run(build("arrays.c"), "512", "4", "4096", "3", llc=LLC)
    assert all_of(result, "", lambda row: row.transfers) == 0


def test_threads_that_only_allocate_take_no_core(build: Build, run: Run) -> None:
    result = run(build("allocating_threads.c"), llc=LLC)
    walks = all_of(result, "make_array", lambda row: row.tlb_misses_4k)
    assert walks == pytest.approx((16 << 20) / 4096, rel=NEAR_ENOUGH)


def test_a_sequential_walk_misses_every_page_once_a_round(build: Build, run: Run) -> None:
    size_kib, rounds = 65536, 3
    result = run(build("arrays.c"), "64", "1", str(size_kib), str(rounds), llc=LLC)
    pages = size_kib / 4
    if pages < 4 * int(result.files[0].header["translations"]):
        pytest.skip("this processor's translation cache knows too many of these pages")
    # Filled once, then read in rounds.
    walks = all_of(result, "make_cold", lambda row: row.tlb_misses_4k)
    assert walks == pytest.approx((1 + rounds) * pages, rel=NEAR_ENOUGH)
    large = all_of(result, "make_cold", lambda row: row.tlb_misses_2m)
    assert large <= 0.1 * pages  # everything is known except the first touches

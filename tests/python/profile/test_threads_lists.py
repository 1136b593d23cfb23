"""Sampled accesses wait in lists of 32 per thread: none is lost, or counted for another object."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import Build, Run

from nearfar.profile.run_file import ERROR_GROUPS, GROUP_ROWS, ProcessFile


def sampled_misses(file: ProcessFile) -> int:
    """Return the misses of all instructions of a run."""
    rows = file.counters[(file.counters["key"] & np.uint64(0xFFFFFFFF)) != 0]
    return int((rows["read_misses"] + rows["write_misses"]).sum())


PAGES = 3
RATE = 64
LARGE = 64 << 20
"""A cache in which each line misses once."""


def test_threads_shorter_than_a_list_lose_nothing(build: Build, run: Run) -> None:
    result = run(build("threads_lists.c"), "short", llc=LARGE)
    # They run one after the other: beside main, one is alive at a time.
    assert int(result.files[0].header["threads"]) == 1 + 1
    # The allocator's own header is another access, whose line is sampled once in 64 runs.
    lines = 64 * PAGES * RATE
    assert lines <= result.of("main").write_misses.total() <= lines + RATE


@pytest.mark.parametrize(
    ("mode", "rounds"), [("first", 1), ("first of C11", 1), ("blocks", 200), ("mappings", 200)]
)
def test_memory_given_away_by_another_thread_keeps_its_accesses(
    build: Build, run: Run, mode: str, rounds: int
) -> None:
    result = run(build("threads_lists.c"), mode, llc=LARGE)
    assert result.code == 0
    # Each long of the sampled lines is stored once; the allocator's own header is another access.
    stores = 8 * PAGES * RATE * rounds
    assert stores <= result.of("message").accesses <= stores + RATE * rounds
    assert result.of("reply").accesses <= RATE * rounds


def test_sequences_of_threads_side_by_side_are_seen(build: Build, run: Run) -> None:
    result = run(build("threads_lists.c"), "side by side", llc=LARGE)
    assert int(result.files[0].header["threads"]) == 1 + 8
    traffic = result.of("walked")
    misses = 8 * 64 * RATE
    # The allocator's own header is another access, whose line is sampled once in 64 runs.
    assert misses <= traffic.write_misses.total() <= misses + RATE
    # All but the first of each thread; a thread without a turn of its own may lose a few.
    assert traffic.write_sequential.total() >= 0.9 * misses
    (file,) = result.files
    rows = file.header["group_misses"].reshape(GROUP_ROWS, ERROR_GROUPS)
    assert np.count_nonzero(rows.sum(axis=1)) > 1, "all threads share the counts of groups"
    assert file.group_misses.sum() == sampled_misses(file)


def test_a_fork_leaves_each_process_its_own_accesses(build: Build, run: Run) -> None:
    result = run(build("threads_lists.c"), "fork", llc=LARGE)
    assert [int(file.header["threads"]) for file in result.files] == [2, 1]
    # The thread and main touch the block in the parent, a new thread in the child.
    stores = 3 * 8 * PAGES * RATE
    assert stores <= result.of("message").accesses <= stores + RATE

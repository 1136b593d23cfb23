"""Page walks in bursts that reuse a line of the page table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.profile.bursts.dependences import (
    MIN_WALKS,
    REUSE_ACCESSES,
    BurstAddresses,
    uncached_walk_share,
)

PAGE, LINE = 4096, 32768
"""Bytes of a page, and of the data that one line of a page table maps."""


def burst(addresses: Sequence[int], streams: bool = False) -> BurstAddresses:
    return BurstAddresses(np.array(addresses, dtype=np.uint64), np.full(len(addresses), streams))


def scattered(count: int, first: int = 0) -> list[int]:
    """Return one page for each line of a table."""
    return [(first + place) * LINE for place in range(count)]


def test_distant_pages_have_separate_table_lines() -> None:
    assert uncached_walk_share([burst(scattered(100))], 1.0) == 1.0


def test_a_search_that_ends_within_a_line_waits_for_it_once() -> None:
    searches = [at + step * PAGE for at in scattered(100) for step in (4, 2, 1)]
    assert uncached_walk_share([burst(searches)], 1.0) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("between", "share"), [(REUSE_ACCESSES // 2, 0.5), (REUSE_ACCESSES + 1, 1.0)]
)
def test_a_line_read_long_before_is_read_again(between: int, share: float) -> None:
    visits = []
    for turn in range(MIN_WALKS):
        # Repeated accesses to a page cause only one walk.
        visits += [turn * LINE, *[LINE * MIN_WALKS] * (between - 1), turn * LINE + PAGE]
    result = uncached_walk_share([burst(visits)], 1.0)
    assert result == pytest.approx(share, abs=2 / MIN_WALKS)


def test_pages_of_other_bursts_do_not_walk_before_colder_pages() -> None:
    # Hot pages share lines, cold pages do not; there are as many walks as cold pages.
    hot = [place * PAGE for place in range(80)]
    bursts = [burst([*hot, *scattered(40, first=1000 * (1 + number))]) for number in range(3)]
    assert uncached_walk_share(bursts, 40 / 120) == 1.0
    assert (uncached_walk_share(bursts, 1.0) or 1.0) < 0.6


def test_walks_of_streams_do_not_count() -> None:
    sequential = burst([place * PAGE for place in range(1000)], streams=True)
    assert uncached_walk_share([sequential], 1.0) is None
    assert uncached_walk_share([sequential, burst(scattered(100, first=10_000))], 1.0) == 1.0


def test_too_few_walks_give_no_share() -> None:
    assert uncached_walk_share([], 1.0) is None
    assert uncached_walk_share([burst([])], 1.0) is None
    assert uncached_walk_share([burst(scattered(100))], (MIN_WALKS - 1) / 100) is None
    assert uncached_walk_share([burst(scattered(MIN_WALKS - 1))], 1.0) is None


@given(
    st.lists(st.lists(st.integers(0, 500), max_size=200), max_size=4),
    st.floats(0.0, 1.0, exclude_min=True),
)
def test_a_share_lies_between_0_and_1(pages: list[list[int]], walks: float) -> None:
    result = uncached_walk_share([burst([PAGE * page for page in each]) for each in pages], walks)
    assert result is None or 0.0 <= result <= 1.0

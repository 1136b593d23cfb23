"""Figures of a paged memory, from samples that are known."""

from __future__ import annotations

import pytest

from nearfar.measure.paged.measure import COMPRESSED, _compressed_shares, _figures
from nearfar.measure.paged.sampler import PagePoint, PageSamples


def test_shares_are_those_of_pages_sent_away_alone_else_of_lzo_rle() -> None:
    plain, limited = PagePoint("records"), PagePoint("records", at_limit=True)
    told = PageSamples(compressed_share=[0.39, 0.41, 0.40])
    assert _compressed_shares({plain: told, limited: PageSamples()}) == {"records": 0.40}
    zswap = {PagePoint(data): PageSamples() for data in COMPRESSED}
    assert _compressed_shares(zswap) == COMPRESSED


def test_the_range_at_a_limit_reaches_to_the_slowest_sweep() -> None:
    taken = PageSamples(
        fault_ns=[8e3, 8.1e3, 27e3, 7.9e3, 8e3, 8.2e3], fault_cpu_ns=[7e3] * 6, tails_ns=[[]] * 6
    )
    (exchange,) = _figures(PagePoint("records", operation="write", at_limit=True), taken, 1, 0.4)
    assert exchange.event == "exchange"
    assert exchange.value_ns == pytest.approx(8.05e3)
    assert (exchange.low_ns, exchange.high_ns) == (7.9e3, 27e3)

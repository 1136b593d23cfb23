"""Figures of a paged memory, from samples that are known."""

from __future__ import annotations

import pytest

from nearfar.measure.paged.measure import COMPRESSED, _compressed_shares, _figures, _noise_floor
from nearfar.measure.paged.sampler import PagePoint, PageSamples


def test_shares_are_those_of_pages_sent_away_alone_else_of_lzo_rle() -> None:
    plain, limited = PagePoint("records"), PagePoint("records", at_limit=True)
    told = PageSamples(compressed_share=[0.39, 0.41, 0.40])
    assert _compressed_shares({plain: told, limited: PageSamples()}) == {"records": 0.40}
    zswap = {PagePoint(data): PageSamples() for data in COMPRESSED}
    assert _compressed_shares(zswap) == COMPRESSED


def test_the_range_at_a_limit_holds_nine_in_ten_sweeps() -> None:
    times = [8e3 + 10.0 * i for i in range(19)] + [27e3, 26e3]
    taken = PageSamples(fault_ns=times, fault_cpu_ns=[7e3] * 21, tails_ns=[[]] * 21)
    (exchange,) = _figures(PagePoint("records", operation="write", at_limit=True), taken, 1, 0.4)
    assert exchange.event == "exchange"
    assert exchange.value_ns == pytest.approx(8.1e3)
    # The slowest of 21 is outside, the second slowest, a twentieth from the end, is not.
    assert (exchange.low_ns, exchange.high_ns) == (8.01e3, 26e3)


def test_faults_that_cost_nothing_have_a_noise_floor() -> None:
    assert _noise_floor([400.0, 500.0, 0.0, 0.0]) == 1.0
    assert _noise_floor([0.0, 0.0]) == 0.0
    assert _noise_floor([110.0, 100.0]) == pytest.approx(0.1)

"""Streams over small pages wait at the pages' ends; stores show the bus' traffic."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest
import samples

from nearfar.base.estimate import Estimate
from nearfar.base.units import LINE_BYTES
from nearfar.documents import DeviceProfile
from nearfar.documents.device import BandwidthFigure
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.memory import MemoryCosts, comparable, scaled_memory
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.models.window import _ratios
from nearfar.predict.traffic import COLUMNS, STORE_STREAM, STREAM, WRITE_BACK_STREAM, PhaseTraffic

HUGE, SMALL = 2 << 20, 4096
HAD = {"how": "measured", "source": "here"}
LINES = 1e6


def device(name: str, reads_gb_per_s: dict[int, float], stores_gb_per_s: float) -> DeviceProfile:
    """Return a device with reads of one thread by page size, and ordinary stores."""
    bandwidth = [
        BandwidthFigure(threads=1, page_bytes=page, value_gb_per_s=value, **HAD)
        for page, value in reads_gb_per_s.items()
    ]
    bandwidth += [
        BandwidthFigure(operation=operation, value_gb_per_s=stores_gb_per_s, **HAD)
        for operation in ("write", "nt-store")
    ]
    return msgspec.structs.replace(
        samples.device(name),
        technology="dram",
        bandwidth=bandwidth,
        measured=samples.measured_here("dram"),
    )


NEAR = near_memory(device("near", {HUGE: 32.0}, 32.0), HUGE)
FAR_DEVICE = device("far", {HUGE: 32.0, SMALL: 16.0}, 32.0)


def far(page_bytes: int) -> MemoryCosts:
    return far_memory(FAR_DEVICE, NEAR, page_bytes=page_bytes)


def slowdown(streams: float, there: MemoryCosts) -> float:
    """Return the slowdown of a program that only streams, at near memory's speed."""
    lines = np.zeros((1, COLUMNS))
    lines[0, STREAM] = LINES
    near_ns = LINES * NEAR.stream_ns(streams**0.5, streams)
    phase = PhaseTraffic(
        "p", Estimate(near_ns, near_ns, near_ns), 1.0, None, lines, 0.0, streams=streams
    )
    return float(InversionModel(phase, NEAR, there).times_ns(phase.total)) / near_ns


def test_one_stream_waits_for_all_ends_of_its_pages() -> None:
    assert far(SMALL).page_ends_ns == pytest.approx(LINE_BYTES / 16.0 - LINE_BYTES / 32.0)
    assert slowdown(1.0, far(SMALL)) == pytest.approx(2.0, rel=0.01)


def test_while_one_of_several_streams_waits_the_others_continue() -> None:
    results = [slowdown(streams, far(SMALL)) for streams in (1.0, 2.0, 4.0)]
    assert results == sorted(results, reverse=True)
    # A line costs 2 ns over the root of four, and another 2 ns over four.
    assert results[-1] == pytest.approx((1.0 + 0.5) / 1.0, rel=0.01)


def test_large_pages_have_no_ends() -> None:
    assert far(HUGE).page_ends_ns == 0.0
    assert far(HUGE).core_stream_ns == NEAR.core_stream_ns


def test_ordinary_stores_show_how_many_lines_a_bus_moves() -> None:
    # A store moves two lines: 64 GB/s where one stream reads 32.
    assert NEAR.read_ns[1] == pytest.approx(1.0)
    assert NEAR.write_ns[1] == pytest.approx(1.0)
    assert NEAR.bandwidth_error >= 0.5  # one stream reads half of that


@pytest.mark.parametrize(
    "changes",
    [
        # The traffic of stores is unknown.
        {"measured": None},
        # A link has separate directions.
        {"technology": "cxl"},
        # All cores together were measured: they are the limit.
        {"bandwidth": [BandwidthFigure(threads=2, value_gb_per_s=32.0, **HAD)]},
    ],
)
def test_other_bandwidths_are_used_unchanged(changes: dict[str, object]) -> None:
    given = NEAR.device
    if "bandwidth" in changes:
        changes = {"bandwidth": [*given.bandwidth, *changes["bandwidth"]]}  # type: ignore[misc]
    result = near_memory(msgspec.structs.replace(given, **changes), HUGE)
    assert result.read_ns[1] == pytest.approx(2.0)


def test_near_streams_have_the_pages_of_near_data() -> None:
    near = near_memory(FAR_DEVICE, SMALL)
    assert near.core_stream_ns == pytest.approx(LINE_BYTES / 16.0)
    assert near.page_ends_ns == pytest.approx(LINE_BYTES / 16.0 - LINE_BYTES / 32.0)


def test_nothing_exceeds_the_best_bandwidth_of_a_memory() -> None:
    assert min(_ratios(NEAR, far(SMALL))) == pytest.approx(1.0)
    quicker = replace(NEAR, chain_costs_ns=NEAR.chain_costs_ns / 4)
    assert min(_ratios(NEAR, quicker)) == pytest.approx(0.25)
    assert min(_ratios(NEAR, replace(NEAR, core_stream_ns=NEAR.core_stream_ns / 2))) == 0.5


def copying(there: DeviceProfile, copies_gb_per_s: dict[int, float]) -> DeviceProfile:
    """Return the device with copies of one thread by page size; half of their bytes are read."""
    copies = [
        BandwidthFigure(operation="copy", threads=1, page_bytes=page, value_gb_per_s=value, **HAD)
        for page, value in copies_gb_per_s.items()
    ]
    return msgspec.structs.replace(there, bandwidth=[*there.bandwidth, *copies])


COPIED_NEAR = near_memory(copying(NEAR.device, {HUGE: 32.0}), HUGE)
COPIED_FAR = far_memory(
    copying(FAR_DEVICE, {HUGE: 64.0, SMALL: 12.8}), COPIED_NEAR, page_bytes=SMALL
)


def copier(streams: float) -> PhaseTraffic:
    """Return streams with near time of a copy's two; half of the lines are stored to."""
    lines = np.zeros((1, COLUMNS))
    lines[0, [STREAM, STORE_STREAM, WRITE_BACK_STREAM]] = LINES / 2
    ns = LINES * COPIED_NEAR.stream_ns(streams**0.5, streams)
    return PhaseTraffic("p", Estimate(ns, ns, ns), 1.0, None, lines, 0.0, streams=streams)


def test_two_streams_take_the_time_of_a_copy_over_such_pages() -> None:
    assert COPIED_FAR.stream_ns(2.0**0.5, 2.0) == pytest.approx(LINE_BYTES / 12.8)
    assert COPIED_FAR.stream_ns(1.0, 1.0) == pytest.approx(LINE_BYTES / 16.0)
    assert LINE_BYTES / 16.0 < COPIED_FAR.stream_ns(1.2, 1.5) < LINE_BYTES / 12.8
    result = InversionModel(copier(2.0), COPIED_NEAR, COPIED_FAR)
    phase = result.phase
    slower = float(result.times_ns(phase.total)) / phase.near_time_ns.value
    # Only nearly: stores, which determine write-backs, are faster than copies.
    assert slower == pytest.approx(32.0 / 12.8, rel=0.1)


def test_more_streams_than_a_copy_has_wait_less_at_page_ends() -> None:
    ends_ns = LINE_BYTES / 12.8 - LINE_BYTES / 64.0
    assert COPIED_FAR.copied_ends_ns == pytest.approx(ends_ns)
    assert COPIED_FAR.stream_ns(2.0, 4.0) == pytest.approx(LINE_BYTES / 12.8 - ends_ns / 2)
    assert COPIED_NEAR.copied_ends_ns == 0.0


def test_a_copy_shows_how_many_lines_a_bus_moves() -> None:
    # Two of three lines are read, and the figure counts only those.
    _, there = comparable(COPIED_NEAR, COPIED_FAR)
    assert there.read_ns[1] == pytest.approx(LINE_BYTES / 12.8 / 1.5)
    assert (
        there.bandwidth_error >= 0.1
    )  # one stream reads a line in 4 ns, the bus moves one in 3.3 ns
    assert comparable(COPIED_NEAR, COPIED_FAR)[1] is there
    assert comparable(there, there) == (there, there)


def test_a_slow_copy_does_not_imply_a_slower_bus_than_reads_show() -> None:
    slow = far_memory(copying(FAR_DEVICE, {SMALL: 8.0}), COPIED_NEAR, page_bytes=SMALL)
    _, there = comparable(COPIED_NEAR, slow)
    assert there.read_ns[1] == pytest.approx(LINE_BYTES / 16.0)
    assert there.write_ns[1] == slow.write_ns[1]


def test_a_copy_in_one_memory_alone_does_not_affect_the_others() -> None:
    plain = far_memory(FAR_DEVICE, COPIED_NEAR, page_bytes=SMALL)
    result = InversionModel(copier(2.0), COPIED_NEAR, plain)
    assert result.near.copied_ns is None
    assert result.near.read_ns == NEAR.read_ns
    assert result.far.stream_ns(1.0, 2.0) == plain.stream_ns(1.0, 2.0)
    # Near memory is the same one for any number of far memories.
    assert (
        comparable(COPIED_NEAR, COPIED_FAR, plain)[0]
        is comparable(COPIED_NEAR, plain, COPIED_FAR)[0]
    )
    assert comparable(COPIED_NEAR, COPIED_FAR, plain)[1].copied_ns is None


def test_a_bus_of_all_cores_differs_from_a_copy_of_one_core() -> None:
    every = [
        msgspec.structs.replace(each, threads=2) if each.operation == "read" else each
        for each in COPIED_FAR.device.bandwidth
    ]
    many = msgspec.structs.replace(COPIED_FAR.device, bandwidth=every)
    there = far_memory(many, COPIED_NEAR, page_bytes=SMALL)
    assert not there.of_one_core
    assert comparable(COPIED_NEAR, there) == (COPIED_NEAR, there)


def test_unnamed_pages_are_the_largest_measured_pages() -> None:
    assert near_memory(COPIED_FAR.device).copied_ns == pytest.approx(LINE_BYTES / 64.0)
    assert near_memory(COPIED_NEAR.device).copied_ns == COPIED_NEAR.copied_ns


def test_nothing_exceeds_the_best_bandwidth_with_copies() -> None:
    quicker = replace(COPIED_NEAR, copied_ns=(COPIED_NEAR.copied_ns or 0.0) / 4)
    assert min(_ratios(COPIED_NEAR, quicker)) == pytest.approx(0.25)


def test_copies_over_other_pages_or_of_several_cores_are_not_used() -> None:
    assert far_memory(copying(FAR_DEVICE, {HUGE: 64.0}), NEAR, page_bytes=SMALL).copied_ns is None
    several = copying(FAR_DEVICE, {SMALL: 12.8})
    several = msgspec.structs.replace(
        several,
        bandwidth=[msgspec.structs.replace(each, threads=2) for each in several.bandwidth],
    )
    assert far_memory(several, NEAR, page_bytes=SMALL).copied_ns is None


def test_a_memory_of_less_bandwidth_copies_proportionally_slower() -> None:
    slower = scaled_memory(COPIED_FAR, bandwidth=0.5).copied_ns
    assert slower == pytest.approx(2.0 * LINE_BYTES / 12.8)

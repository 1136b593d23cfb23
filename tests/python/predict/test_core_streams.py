"""One core's sequential reads, and writes, of memories whose figures do not tell them."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import samples

from nearfar.base.estimate import Estimate
from nearfar.documents import DeviceProfile
from nearfar.documents.device import BandwidthFigure
from nearfar.predict.core_streams import ASSUMED_STREAM_LINES, SLOWEST_WRITES
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.interval import far_estimate
from nearfar.predict.memory import MemoryCosts, scaled_memory
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.traffic import COLUMNS, STREAM, WRITE_BACK_STREAM, PhaseTraffic

HAD = {"how": "published", "source": "here"}
ONE_CORE = samples.device("core", 100.0, 10.0)


def read(gb_per_s: float, threads: int | None = None) -> BandwidthFigure:
    return BandwidthFigure(value_gb_per_s=gb_per_s, threads=threads, **HAD)


def published(
    name: str, latency_ns: float, *figures: BandwidthFigure, host_dram: str | None = None
) -> DeviceProfile:
    device = samples.device(name, latency_ns)
    latency = [figure for figure in device.latency if figure.pattern == "random"]
    return msgspec.structs.replace(
        device,
        latency=latency,
        bandwidth=list(figures),
        chains=[],
        loaded_latency=[],
        host_dram=host_dram,
    )


def test_a_socket_s_bandwidth_is_not_one_core_s():
    near = near_memory(published("near", 100.0, read(200.0)))
    assert near.core_stream_ns == pytest.approx(100.0 / ASSUMED_STREAM_LINES)
    assert any("lines in flight" in caveat for caveat in near.caveats)


@pytest.mark.parametrize("figures", [(read(8.0, 1), read(200.0, 16)), (read(5.0),)])
def test_near_s_own_figure_of_one_core_is_used(figures: tuple[BandwidthFigure, ...]):
    near = near_memory(published("near", 100.0, *figures))
    assert near.core_stream_ns == pytest.approx(64.0 / figures[0].value_gb_per_s)


def test_without_a_figure_of_one_core_the_range_spans_bandwidth_and_latency():
    near = near_memory(published("near", 100.0, read(8.0, 1)))
    far = far_memory(published("far", 400.0, read(50.0)), near)
    assert far.core_stream_ns == pytest.approx(2.0 * near.core_stream_ns)
    assert far.stream_range == (pytest.approx(0.5), pytest.approx(2.0))


def test_a_core_s_published_rate_is_taken_in_proportion_to_its_local_dram():
    """Optane: 2.88 GB/s a core, where that core reads 7.38 GB/s from local DRAM."""
    near = near_memory(published("near", 100.0, read(12.0, 1)))
    figures = (read(2.88, 1), read(37.63, 22))
    far = far_memory(published("far", 300.0, *figures, host_dram="ddr4-2666-cascade-lake"), near)
    assert 64.0 / far.core_stream_ns == pytest.approx(12.0 * 2.88 / 7.38)
    low, high = far.stream_range
    assert (low, far.core_stream_ns * high) == (1.0, pytest.approx(64.0 / 2.88))


def test_an_assumed_near_rate_does_not_replace_a_published_far_one():
    near = near_memory(published("near", 100.0, read(200.0)))
    far = far_memory(
        published("far", 300.0, read(2.88, 1), read(38.0), host_dram="ddr4-2666-cascade-lake"), near
    )
    assert 64.0 / far.core_stream_ns == pytest.approx(2.88)
    low, high = far.stream_range
    assert far.core_stream_ns * low == pytest.approx(near.core_stream_ns * 7.38 / 2.88)
    assert high == 1.0


def test_far_memory_is_read_no_faster_than_near_memory_of_a_shorter_latency():
    near = near_memory(published("near", 100.0, read(8.0, 1)))
    far = far_memory(published("far", 300.0, read(16.0, 1), read(48.0, 16)), near)
    assert far.core_stream_ns == near.core_stream_ns
    assert far.stream_range == (pytest.approx(0.5), 1.0)


def test_on_the_published_machine_its_rate_is_used():
    near = near_memory(published("near", 101.5, read(7.38, 1)))
    far = far_memory(
        published("far", 300.0, read(2.88, 1), host_dram="ddr4-2666-cascade-lake"), near
    )
    assert far.core_stream_ns == pytest.approx(64.0 / 2.88)
    assert far.stream_range == (1.0, 1.0)


def test_reads_that_stand_in_for_writes_widen_the_range_of_writes_alone():
    near = near_memory(published("near", 100.0, read(8.0, 1)))
    stands_in = far_memory(published("far", 300.0, read(20.0)), near)
    assert stands_in.write_range == (1.0, SLOWEST_WRITES)
    assert any("no bandwidth of writes" in caveat for caveat in stands_in.caveats)
    stores = BandwidthFigure(operation="nt-store", value_gb_per_s=9.0, **HAD)
    assert far_memory(published("far", 300.0, read(20.0), stores), near).write_range == (1.0, 1.0)


def test_streams_and_writes_scale_alone():
    memory = near_memory(ONE_CORE)
    scaled = scaled_memory(memory, stream=2.0, writes=3.0)
    assert scaled.core_stream_ns == 2.0 * memory.core_stream_ns
    assert scaled.write_ns == tuple(3.0 * ns for ns in memory.write_ns)
    assert (scaled.latency_ns, scaled.read_ns) == (memory.latency_ns, memory.read_ns)


def copied(near: MemoryCosts, far: MemoryCosts) -> Estimate:
    """Return the slowdown of a copy by one core, as fast near as its streams."""
    lines = np.zeros((1, COLUMNS))
    lines[0, STREAM], lines[0, WRITE_BACK_STREAM] = 2e6, 1e6
    near_ns = 2e6 * near.core_stream_ns
    phase = PhaseTraffic("copy", Estimate(near_ns, near_ns, near_ns), 1.0, None, lines, 0.0)
    return far_estimate(InversionModel, phase, near, far, InversionModel(phase, near, far)).slowdown


def test_a_device_of_two_numbers_has_a_wider_interval_than_one_with_all_figures():
    near = near_memory(published("near", 100.0, read(8.0, 1), read(40.0, 8)))
    stores = BandwidthFigure(operation="nt-store", value_gb_per_s=8.0, **HAD)
    two_numbers = copied(near, far_memory(published("far", 300.0, read(10.0)), near))
    figures = (read(4.62, 1), read(10.0, 8), stores)
    complete = copied(near, far_memory(published("far", 300.0, *figures), near))
    assert two_numbers.value == pytest.approx(complete.value, rel=0.1)
    assert two_numbers.high / two_numbers.value > 1.2 * complete.high / complete.value
    assert two_numbers.low / two_numbers.value < 0.9 * complete.low / complete.value

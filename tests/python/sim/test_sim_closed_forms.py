"""Throughput, loaded latency and scaling compared with closed forms."""

from __future__ import annotations

import msgspec
import pytest

from nearfar.base.errors import NearfarError
from nearfar.devices.library import load_device
from nearfar.sim.from_device import from_device, read_shares
from nearfar.sim.loaded import LoadedLatency
from nearfar.sim.parameters import DeviceInterleave, MemoryLevel, ThreadBandwidth, WriteQueue
from nearfar.sim.synthetic import synthetic, without_buffers
from nearfar.sim.throughput import amplified, busiest_share, by_threads, mixed


def test_few_threads_scale_and_many_saturate() -> None:
    bandwidth = ThreadBandwidth(3.0, 30.0, 2.5)
    assert by_threads(bandwidth, 1) == pytest.approx(3.0, rel=0.01)
    assert by_threads(bandwidth, 1000) == pytest.approx(30.0, rel=0.01)
    assert all(by_threads(bandwidth, n) < by_threads(bandwidth, n + 1) < 30 for n in range(1, 40))


def test_small_random_accesses_are_amplified_to_the_granularity() -> None:
    assert amplified(64, 256) == 4
    assert amplified(256, 256) == 1
    assert amplified(320, 256) == pytest.approx(512 / 320)


def test_a_stride_over_all_devices_uses_one() -> None:
    interleave = DeviceInterleave(6, 4096)
    assert busiest_share(interleave, 6 * 4096, 64) == 1.0
    assert busiest_share(interleave, 4096, 64) == pytest.approx(1 / 6)
    assert busiest_share(interleave, 2 * 4096, 64) == pytest.approx(1 / 3)
    assert busiest_share(None, 4096, 64) == 1.0


def test_mixed_traffic_takes_the_time_of_both() -> None:
    assert mixed(30, 10, 1.0) == pytest.approx(30)
    assert mixed(30, 10, 0.0) == pytest.approx(10)
    assert mixed(30, 10, 0.5) == pytest.approx(15)


def test_the_fixed_point_obeys_littles_law() -> None:
    loaded = LoadedLatency(100.0, lambda _share: 50.0)
    for in_flight in (1, 4, 16, 30):
        drawn, latency_ns = loaded.fixed_point(in_flight)
        assert drawn * latency_ns == pytest.approx(64 * in_flight, rel=1e-6)
    # Far above the knee bandwidth is at its limit, and latency continues to grow.
    assert loaded.fixed_point(1000)[1] == pytest.approx(64_000 / loaded.fixed_point(1000)[0])
    assert loaded.fixed_point(1000)[0] == loaded.fixed_point(500)[0]


def test_a_published_curve_is_reproduced_at_its_points() -> None:
    curve = ((1.0, ((0.0, 100.0), (10.0, 120.0), (20.0, 200.0), (19.0, 400.0))),)
    loaded = LoadedLatency(100.0, lambda _share: 20.0, curve)
    assert loaded.latency_ns(10.0) == pytest.approx(120)
    assert loaded.latency_ns(15.0) == pytest.approx(160)


@pytest.mark.parametrize(
    "make",
    [
        lambda: MemoryLevel("x", 1000, 10.0),
        lambda: MemoryLevel("x", 4096, 10.0, block_bytes=96),
        lambda: MemoryLevel("x", 4096, 10.0, ways=17),
        lambda: MemoryLevel("x", 4096, -1.0),
        lambda: WriteQueue(100, 10.0),
        lambda: DeviceInterleave(2, 3000),
        lambda: ThreadBandwidth(0.0, 1.0),
        lambda: ThreadBandwidth(1.0, 1.0, points=((4, 1.0), (2, 1.0))),
    ],
)
def test_impossible_values_are_refused_by_name(make: object) -> None:
    with pytest.raises(NearfarError, match="cannot be simulated"):
        make()  # type: ignore[operator]


def test_random_memories_are_repeatable_and_differ() -> None:
    assert synthetic(3) == synthetic(3)
    assert len({synthetic(seed) for seed in range(50)}) == 50
    kinds = [synthetic(seed) for seed in range(200)]
    assert {len(model.buffers) for model in kinds} == {0, 1, 2, 3}
    assert {len(model.caches) for model in kinds} == {0, 1, 2, 3}
    assert {model.wear is None for model in kinds} == {True, False}
    blocks = {buffer.block_bytes for model in kinds for buffer in model.buffers}
    assert blocks >= {64, 128, 256, 512, 1024, 2048, 4096}
    assert not any(without_buffers(seed).buffers for seed in range(50))


def test_a_level_serves_what_fits_and_little_of_eight_times_as_much() -> None:
    for seed in range(12):
        model = synthetic(seed)
        for number, level in enumerate(model.levels):
            whole = level.capacity_bytes * (model.devices if level in model.buffers else 1)
            region = 8 * whole
            inside = read_shares(model, whole // 2 // 64 * 64)
            outside = read_shares(model, region)
            assert sum(inside[: number + 1]) > 0.9, (seed, level)
            assert sum(outside[: number + 1]) < 0.3, (seed, level)


def test_a_curve_saved_with_the_highest_load_first_is_simulated_alike() -> None:
    device = load_device("cxl-asic-eurosys24")
    turned = msgspec.structs.replace(
        device,
        loaded_latency=[
            msgspec.structs.replace(curve, points=curve.points[::-1])
            for curve in device.loaded_latency
        ],
    )
    model = from_device(device)
    assert [share for share, _ in model.loaded] == [1.0, 0.75, 0.6667, 0.5, 0.0]
    for (share, ours), (_, theirs) in zip(model.loaded, from_device(turned).loaded, strict=True):
        assert ours[0] == theirs[0], share
        assert max(ours) == max(theirs)
        assert ours[0][0] < ours[-1][0]

"""Devices as models see them: curves, derived figures, refusals."""

from __future__ import annotations

import msgspec
import pytest
import samples

from nearfar.base.errors import NearfarError
from nearfar.documents import DeviceProfile
from nearfar.documents.device import (
    BandwidthFigure,
    ChainsFigure,
    LoadedLatencyCurve,
)
from nearfar.predict.derive import ASSUMED_PARALLELISM, far_memory, near_memory
from nearfar.predict.device_figures import line_bandwidth, write_back_ns
from nearfar.predict.loaded_latency import LoadedFactor

MEASURED = samples.measured_here()
HAD = {"how": "published", "source": "here"}


def without(device: DeviceProfile, **changes: object) -> DeviceProfile:
    return msgspec.structs.replace(device, **changes)


def bandwidth(**fields: object) -> BandwidthFigure:
    return BandwidthFigure(**{**HAD, **fields})


def test_cost_is_exact_between_points_of_latency_over_k():
    memory = near_memory(samples.device(latency_ns=90.0, parallelism=32))
    for k in (1, 3, 5.5, 12, 32):
        assert memory.cost_ns(k) == pytest.approx(90.0 / k)
    assert memory.cost_ns(0.5) == memory.cost_ns(1)
    assert memory.cost_ns(64) == memory.cost_ns(32)


def test_a_curve_that_rises_by_noise_is_treated_as_flat():
    noisy = [ChainsFigure(chains=k, value_ns=v, **HAD) for k, v in ((1, 90), (2, 45), (4, 46))]
    assert near_memory(without(samples.device(), chains=noisy)).cost_ns(4) == 45.0


def test_far_chains_are_derived_from_the_cores_parallelism():
    near = near_memory(samples.device(latency_ns=90.0, parallelism=10))
    far = far_memory(without(samples.device("far", 300.0, 50.0), chains=[]), near)
    assert far.cost_ns(1) == pytest.approx(300.0)
    assert far.cost_ns(4) == pytest.approx(75.0)
    assert not far.chains_measured
    assert any("derived" in caveat for caveat in far.caveats)


def test_derived_chains_are_floored_by_bandwidth():
    near = near_memory(samples.device())
    far = far_memory(without(samples.device("far", 300.0, 1.0), chains=[]), near)
    assert far.cost_ns(32) == pytest.approx(64.0)


def test_near_without_chains_gets_an_assumed_curve_and_reports_it():
    near = near_memory(without(samples.device(), chains=[]))
    assert near.cost_ns(32) == pytest.approx(90.0 / ASSUMED_PARALLELISM)
    assert any("assumed" in caveat for caveat in near.caveats)


def test_derived_figures_widen_the_error():
    near = near_memory(samples.device())
    measured = samples.device("far", 300.0)
    assert (
        far_memory(without(measured, chains=[]), near).latency_error
        > far_memory(measured, near).latency_error
    )


@pytest.mark.parametrize("lacking", ["latency", "bandwidth"])
def test_a_device_without_a_needed_figure_is_refused_by_name(lacking: str):
    near = near_memory(samples.device())
    with pytest.raises(NearfarError, match=r"'far' lacks .*(latency|bandwidth)"):
        far_memory(without(samples.device("far"), **{lacking: [], "loaded_latency": []}), near)


def test_a_curve_alone_is_enough_and_every_substitute_is_named():
    """`nearfar device import` makes of a CSV a read curve, its idle end, and its best bandwidth."""
    device = samples.device("far", latency_ns=300.0, read_gb_per_s=8.0)
    far = far_memory(without(device, bandwidth=[], chains=[]), near_memory(samples.device()))
    assert far.write_ns == (8.0, 8.0)
    assert any("stands in for sequential nt-store" in caveat for caveat in far.caveats)
    assert far.bandwidth_error == 0.20


def test_random_lines_below_the_granularity_are_amplified():
    device = without(samples.device("far", 300.0, 40.0), granularity_bytes=256)
    assert line_bandwidth(device, "read", "random").value_gb_per_s == pytest.approx(10.0)
    assert line_bandwidth(device, "read", "sequential").value_gb_per_s == 40.0


def test_a_figure_for_single_lines_is_preferred_to_one_for_blocks():
    figures = [
        bandwidth(pattern="random", access_bytes=256, value_gb_per_s=33.65),
        bandwidth(pattern="random", access_bytes=64, value_gb_per_s=9.67),
    ]
    device = without(samples.device(), bandwidth=[*samples.device().bandwidth, *figures])
    assert line_bandwidth(device, "read", "random").value_gb_per_s == 9.67


@pytest.mark.parametrize(
    ("figure", "expected_ns"),
    [
        (bandwidth(operation="nt-store", value_gb_per_s=8.0), 8.0),
        # 64 B are stored in 16 ns, of which reading the line took 6.4.
        (bandwidth(operation="write", value_gb_per_s=4.0), 9.6),
        # Ten lines, mixed half and half, take 68.8 ns each; at 10 GB/s a read takes 6.4 ns.
        (bandwidth(operation="mixed", read_share=0.5, value_gb_per_s=64 / 6.88), 7.36),
    ],
)
def test_a_written_line_costs_the_figure(figure: BandwidthFigure, expected_ns: float):
    assert write_back_ns(figure, read_ns=6.4) == pytest.approx(expected_ns)


def test_a_loaded_curve_that_dips_and_folds_back_is_treated_as_rising():
    curve = LoadedLatencyCurve(
        read_share=1.0, points=[(1, 100), (5, 90), (10, 150), (9, 300), (8, 400)], **HAD
    )
    factor = LoadedFactor.of(curve)
    assert factor.at(0.0) == factor.at(5.0) == 1.0
    assert factor.at(10.0) == factor.greatest == 1.5
    assert factor.at(99.0) == 1.5


@pytest.mark.parametrize(("near_ns", "own_path_ns"), [(95.0, 0.0), (119.0, 0.0), (170.0, 70.0)])
def test_a_slow_machine_may_add_its_own_path_to_a_published_latency(
    near_ns: float, own_path_ns: float
):
    near = without(samples.device(latency_ns=near_ns), technology="dram", measured=MEASURED)
    far = far_memory(without(samples.device("far", 300.0), chains=[]), near_memory(near))
    assert far.latency_range == (1.0, pytest.approx((300.0 + own_path_ns) / 300.0))
    assert any("upper end" in caveat for caveat in far.caveats) == (own_path_ns > 0)
    measured_here = without(samples.device("far", 300.0), measured=MEASURED)
    assert far_memory(measured_here, near_memory(near)).latency_range == (1.0, 1.0)

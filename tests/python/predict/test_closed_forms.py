"""Programs whose far time is known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
import samples

from nearfar.base.estimate import Estimate
from nearfar.devices.library import load_device
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.interval import far_estimate
from nearfar.predict.model import MODELS, Model
from nearfar.predict.traffic import (
    CHASE,
    COLUMNS,
    HITS,
    INDEPENDENT,
    STORE,
    STREAM,
    WRITE_BACK,
    PhaseTraffic,
)

NEAR = {"latency_ns": 90.0, "read_gb_per_s": 12.0, "write_gb_per_s": 9.0}
FAR = {"latency_ns": 270.0, "read_gb_per_s": 6.0, "write_gb_per_s": 3.0}


def phase(near_time_ns: float, **lines: float) -> PhaseTraffic:
    columns = {
        "chase": CHASE,
        "independent": INDEPENDENT,
        "stream": STREAM,
        "store": STORE,
        "write_back": WRITE_BACK,
        "hits": HITS,
    }
    row = np.zeros((1, COLUMNS))
    for name, value in lines.items():
        row[0, columns[name]] = value
    near = Estimate(near_time_ns, near_time_ns, near_time_ns)
    return PhaseTraffic("p", near, 1.0, None, row, 0.0)


def model(traffic: PhaseTraffic, name: str = "inversion", **far: float) -> Model:
    near = near_memory(samples.device("near", **NEAR))
    return MODELS.get(name)(traffic, near, far_memory(samples.device("far", **(FAR | far)), near))


def slowdown(traffic: PhaseTraffic, name: str = "inversion", **far: float) -> float:
    result = model(traffic, name, **far)
    return float(result.times_ns(traffic.total)) / traffic.near_time_ns.value


def test_chase_slows_by_the_latency_ratio():
    assert slowdown(phase(90e6, chase=1e6)) == pytest.approx(3.0)


def test_chase_with_arithmetic_adds_only_the_latency():
    """Arithmetic takes 60 ns of each 150: (60 + 270)

    150.
    """
    assert slowdown(phase(150e6, chase=1e6)) == pytest.approx(330 / 150)


def test_gather_at_full_parallelism_slows_by_the_latency_ratio():
    assert slowdown(phase(9e6, independent=1e6), read_gb_per_s=100.0) == pytest.approx(3.0)


def test_gather_is_bound_by_bandwidth_where_that_is_slower():
    """64 B at 1 GB/s: 64 ns, more than 270 ns over 10 in flight."""
    result = slowdown(phase(9e6, independent=1e6), read_gb_per_s=1.0)
    assert result == pytest.approx(64.0 / 9.0)


def test_stream_slows_by_the_bandwidth_ratio():
    near_ns = 64.0 / 12.0 * 1e6
    assert slowdown(phase(near_ns, stream=1e6), read_gb_per_s=3.0) == pytest.approx(4.0)


def test_computing_is_not_slowed():
    traffic = phase(1e9, hits=1e8)
    assert slowdown(traffic) == pytest.approx(1.0)
    assert model(traffic).bound() == "compute"


def test_stores_are_hidden_until_bandwidth_binds():
    """A tenth of the time fetches stores' lines, hidden; at 1/12 of the bandwidth they dominate."""
    traffic = phase(100e6, store=1e6, write_back=1e6)
    near = near_memory(samples.device("near", **NEAR))
    hidden = slowdown(traffic, read_gb_per_s=12.0, write_gb_per_s=9.0)
    assert hidden < 1.25
    lines_ns = 64.0 / 0.5 + 64.0 / 0.25
    bound = slowdown(traffic, read_gb_per_s=0.5, write_gb_per_s=0.25)
    assert bound >= lines_ns * 1e6 / 100e6
    assert near.write_ns[1] == pytest.approx(64.0 / 9.0)


def test_hits_between_misses_leave_less_time_to_invert():
    """The same near time with many hits implies more overlap, hence less added time."""
    assert slowdown(phase(60e6, independent=1e6, hits=8e6)) < slowdown(phase(60e6, independent=1e6))


def test_a_chase_slows_more_than_a_gather_of_equal_misses():
    lines = np.zeros((2, COLUMNS))
    lines[0, CHASE] = lines[1, INDEPENDENT] = 1e6
    near = Estimate(100e6, 100e6, 100e6)
    result = model(PhaseTraffic("p", near, 1.0, None, lines, 0.0))
    chase, gather = result.times_ns(lines) - 100e6
    assert chase > 3 * gather > 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [("null", 1.0), ("latency-ratio", 3.0), ("misses", (9e6 + 180e6) / 9e6)],
)
def test_naive_models_follow_their_definitions(name: str, expected: float):
    assert slowdown(phase(9e6, independent=1e6), name) == pytest.approx(expected)


def test_effective_parallelism_is_read_off_the_near_curve():
    assert model(phase(18e6, independent=1e6)).effective_parallelism() == pytest.approx(5.0)
    assert model(phase(1e6, stream=1e6)).effective_parallelism() is None


def test_bound_names_the_limiting_resource():
    assert model(phase(90e6, chase=1e6)).bound() == "latency"
    assert model(phase(6e6, stream=1e6)).bound() == "bandwidth"


def test_threads_share_bandwidth_and_wait_for_loaded_latency():
    traffic = phase(18e6, independent=1e6)
    together = PhaseTraffic("p", traffic.near_time_ns, 4.0, None, traffic.objects, 0.0)
    alone_ns = float(model(traffic).times_ns(traffic.total))
    together_ns = float(model(together, read_gb_per_s=3.0).times_ns(together.total))
    assert together_ns > alone_ns
    # Four threads draw at most the memory's bandwidth: bytes / bandwidth of wall time.
    assert together_ns / 4.0 >= 64e6 / 3.0 * 0.999 * min(1.0, 18e6 / (4 * 64e6 / 12.0))


def test_a_phase_that_mostly_computes_has_a_narrow_interval():
    """Even serial misses explain a tenth of near time: their class hardly matters."""
    traffic = phase(900e6, independent=1e6)
    near = near_memory(samples.device("near", **NEAR))
    far = far_memory(samples.device("far", **FAR), near)
    kind = MODELS.get("inversion")
    result = far_estimate(kind, traffic, near, far, kind(traffic, near, far)).slowdown
    assert result.value == pytest.approx((900 + 180) / 900)
    assert result.low >= 1.0
    assert result.high < 1.3


def test_a_figure_that_near_time_beats_says_nothing_of_the_others():
    """A transpose whose lines for stores and lines written back are hidden near, which beats the
    figures of parallel misses and of the bus: its stream is read no faster for that."""
    near = near_memory(samples.device("near", **NEAR))
    far = far_memory(load_device("nvdimm-n"), near)
    traffic = phase(10.7e6, stream=1e6, store=1e6, write_back=1e6)
    far_ns = float(MODELS.get("inversion")(traffic, near, far).times_ns(traffic.total))
    assert far.core_stream_ns > 2.0 * near.core_stream_ns
    assert far_ns >= 1e6 * far.core_stream_ns

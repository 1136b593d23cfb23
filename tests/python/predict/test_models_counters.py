"""The model of whole programs from counters: closed forms, and invariants of any program."""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec
import numpy as np
import pytest
import samples
from counted_phase import counted_phase
from hypothesis import given
from hypothesis import strategies as st
from property_examples import examples

from nearfar.api import predict
from nearfar.base.estimate import scale_estimate
from nearfar.documents import DeviceProfile
from nearfar.documents.counters import CounterInterval, CounterProfile
from nearfar.documents.device import LoadedLatencyCurve
from nearfar.documents.header import producer
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.from_counters import profile_of_counters
from nearfar.predict.models.counters import CountersModel, stalled_share
from nearfar.predict.phases import phases_of
from nearfar.predict.traffic import COLUMNS, PhaseTraffic

COUNTS = st.tuples(
    st.floats(0.0, 1e8),  # misses
    st.floats(0.0, 64e8),  # bytes read besides
    st.floats(0.0, 64e8),  # bytes written
)


def test_without_load_the_stalled_share_is_that_of_independent_misses():
    in_flight = np.array([0.0, 0.1, 1.0, 30.0])
    assert stalled_share(in_flight, np.ones(4)) == pytest.approx(1.0 - np.exp(-in_flight))


@given(in_flight=st.floats(0.0, 50.0), idle=st.floats(0.05, 1.0))
def test_load_hides_how_many_misses_there_would_be(in_flight: float, idle: float):
    """Idle and loaded states are one program: work stays, stalls grow with latency."""
    loaded = float(stalled_share(np.array(in_flight), np.array(idle)))
    unloaded_time = 1.0 - loaded * (1.0 - idle)
    unloaded = in_flight * idle / unloaded_time
    assert loaded * idle / unloaded_time == pytest.approx(1.0 - math.exp(-unloaded), abs=1e-9)
    assert loaded >= 1.0 - math.exp(-in_flight) - 1e-12


def test_the_fixed_point_lies_on_the_loaded_curve():
    near = with_curve(samples.device(), [(0.0, 90.0), (12.0, 90.0)])
    far = with_curve(samples.device("far", 180.0, 50.0, 50.0), [(0.0, 180.0), (1.0, 360.0)])
    phase = counted_phase(near_time_ns=90e6, llc_misses=1e6)
    ratio = of_phase(phase, near, far)
    stalled, loaded_ns = 1.0 - math.exp(-1.0), 180.0 * (1.0 + 64.0 / (90.0 * ratio))
    assert ratio == pytest.approx(1.0 - stalled + stalled * loaded_ns / 90.0, rel=1e-6)


def test_prefetched_lines_wait_for_bandwidth_only():
    near = with_curve(samples.device(), [(0.0, 90.0), (50.0, 90.0)])
    wall = [(0.0, 180.0), (4.0, 180.0), (4.01, 400.0)]
    far = with_curve(samples.device("far", 180.0, 4.0, 4.0), wall)
    light, heavy = (counted([(0.0, read, 0.0)], 1e9) for read in (2e9, 8e9))
    assert slowdown(light, near, far) == pytest.approx(1.0)
    assert slowdown(heavy, near, far) == pytest.approx(8.0 / 4.01, rel=1e-3)


def test_at_the_near_bandwidth_limit_everything_waits():
    """At near memory's limit, twice the bandwidth at half the latency halves the time."""
    near = with_curve(samples.device(), [(0.0, 90.0), (10.0, 360.0)])
    far = with_curve(samples.device("far", 180.0, 50.0, 50.0), [(0.0, 180.0), (40.0, 180.0)])
    assert slowdown(counted([(0.0, 10e9, 0.0)], 1e9), near, far) == pytest.approx(0.5, rel=1e-3)


@given(
    counts=COUNTS,
    latency=st.floats(1.0, 6.0),
    more=st.floats(1.0, 3.0),
    bandwidth=st.floats(0.05, 1.0),
)
@examples(30)
def test_slower_memory_is_never_faster(
    counts: tuple[float, float, float], latency: float, more: float, bandwidth: float
):
    """Slower means longer latencies at every load, or a lower bandwidth limit."""
    near = loaded("near", 1.0, 1.0)
    ratios = [
        slowdown(counted([counts], 1e9), near, loaded("far", *slower))
        for slower in (
            (latency, bandwidth),
            (latency * more, bandwidth),
            (latency, bandwidth / more),
        )
    ]
    assert ratios[0] >= 1.0 - 1e-6
    assert min(ratios[1:]) >= ratios[0] * (1.0 - 1e-6)


@given(counts=COUNTS, kind=st.integers(0, 2), more=st.floats(1.0, 4.0))
@examples(30)
def test_more_traffic_is_never_cheaper(counts: tuple[float, float, float], kind: int, more: float):
    """Near latency does not depend on load here, so that near time shows no traffic."""
    near = with_curve(samples.device(latency_ns=90.0), [(0.0, 90.0), (200.0, 90.0)])
    increased = tuple(n * more if at == kind else n for at, n in enumerate(counts))
    far = loaded("far", 2.0, 0.5)
    first, second = (slowdown(counted([row], 1e9), near, far) for row in (counts, increased))
    assert second >= first * (1.0 - 1e-6)


@given(counts=COUNTS, parts=st.integers(2, 7))
@examples(20)
def test_equal_intervals_are_merged(counts: tuple[float, float, float], parts: int):
    near, far = loaded("near", 1.0, 1.0), loaded("far", 2.5, 0.4)
    part = tuple(n / parts for n in counts)
    whole = slowdown(counted([counts], 1e9), near, far)
    assert slowdown(counted([part] * parts, 1e9), near, far) == pytest.approx(whole, rel=1e-5)


def test_more_misses_in_flight_than_buffers_are_reported():
    near, far = loaded("near", 1.0, 1.0), loaded("far", 2.0, 1.0)
    for misses, reported in ((1e8, False), (1e9, True)):
        profile = profile_of_counters(counted([(misses, 0.0, 0.0)], 1e9))
        (device,) = predict(profile=profile, near=near, far=[far], model="counters").devices
        assert any("misses in flight on a core" in text for text in device.caveats) == reported


def test_another_near_time_is_divided_among_all_intervals():
    near, far = near_memory(loaded("near", 1.0, 1.0)), loaded("far", 2.5, 0.4)
    (phase,) = phases_of(profile_of_counters(counted([(1e6, 1e9, 0.0)] * 3, 1e9)))
    longer = replace(phase, near_time_ns=scale_estimate(phase.near_time_ns, 2.0))
    none = np.zeros(COLUMNS)
    for each in (phase, longer):
        model = CountersModel(each, near, far_memory(far, near))
        assert float(model.times_ns(none)) == pytest.approx(each.near_time_ns.value)


def test_different_intervals_do_not_equal_their_mean():
    """Half of the time is at the bandwidth limit, half is idle: the mean is far from the limit."""
    near, far = loaded("near", 1.0, 1.0), loaded("far", 1.0, 0.1)
    apart = slowdown(counted([(0.0, 4e9, 0.0), (0.0, 0.0, 0.0)], 1e9), near, far)
    together = slowdown(counted([(0.0, 2e9, 0.0)] * 2, 1e9), near, far)
    assert apart > 1.2 * together


@given(counts=COUNTS, share=st.floats(0.0, 1.0))
@examples(25)
def test_a_split_program_is_no_slower_than_all_far(
    counts: tuple[float, float, float], share: float
):
    near, far = loaded("near", 1.0, 1.0), loaded("far", 3.0, 0.3)
    near_side = near_memory(near)
    (phase,) = phases_of(profile_of_counters(counted([counts], 1e9)))
    model = CountersModel(phase, near_side, far_memory(far, near_side))
    none, some, everything = (
        float(model.times_ns(phase.total * part)) for part in (0.0, share, 1.0)
    )
    assert none == pytest.approx(phase.near_time_ns.value, rel=1e-6)
    assert some <= everything * (1.0 + 1e-6)


def counted(rows: list[tuple[float, ...]], seconds_ns: float) -> CounterProfile:
    """Return a program of one core; rows are misses, other bytes read, bytes written."""
    length = seconds_ns * 1e-9 / len(rows)
    return CounterProfile(
        producer=producer(["tests"]),
        file="made-up.csv",
        format="csv",
        names={},
        scaled={},
        intervals=[
            CounterInterval(
                begin_s=at * length,
                end_s=(at + 1) * length,
                cpu_time_ns=length * 1e9,
                llc_misses=row[0],
                read_bytes=64.0 * row[0] + row[1],
                write_bytes=row[2],
            )
            for at, row in enumerate(rows)
        ],
    )


def slowdown(counters: CounterProfile, near: DeviceProfile, far: DeviceProfile) -> float:
    (device,) = predict(
        profile=profile_of_counters(counters), near=near, far=[far], model="counters"
    ).devices
    return device.total.slowdown.value


def of_phase(phase: PhaseTraffic, near: DeviceProfile, far: DeviceProfile) -> float:
    near_side = near_memory(near)
    model = CountersModel(phase, near_side, far_memory(far, near_side))
    return float(model.times_ns(model.phase.total)) / model.near_time_ns


def loaded(name: str, latency: float, bandwidth: float) -> DeviceProfile:
    """Return a memory whose latency rises to four times at its limit of 20 GB/s."""
    points = [(20.0 * u, 90.0 * (1.0 + 3.0 * u**4)) for u in np.linspace(0.0, 1.0, 9)]
    device = samples.device(name, 90.0 * latency, 20.0 * bandwidth, 20.0 * bandwidth)
    return with_curve(device, [(gb * bandwidth, ns * latency) for gb, ns in points])


def with_curve(device: DeviceProfile, points: list[tuple[float, float]]) -> DeviceProfile:
    curve = LoadedLatencyCurve(read_share=1.0, points=points, how="measured", source="here")
    return msgspec.structs.replace(device, loaded_latency=[curve])

"""Invariants of every model, and closed forms of simple models."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import msgspec
import numpy as np
import pytest
import samples
from able_models import ABLE_MODELS
from counted_phase import counted_phase
from hypothesis import given
from hypothesis import strategies as st
from property_examples import examples

from nearfar.api import predict
from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.documents.device import BandwidthFigure, LatencyFigure, LoadedLatencyCurve
from nearfar.documents.machine import JointLimit
from nearfar.documents.workload import MissCurve
from nearfar.predict.core_time import StreamFetch, overlap_at, traffic_time
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.loaded_latency import LoadedFactor, interpolated_load
from nearfar.predict.model import MODELS, Model, ModelLacksError
from nearfar.predict.models.interleave import weights
from nearfar.predict.models.memory_mode import (
    contiguous_regions,
    scattered_share,
)
from nearfar.predict.phases import concurrent_streams, phases_of
from nearfar.predict.shared_channels import channel_sharing
from nearfar.predict.traffic import (
    COLUMNS,
    FENCE,
    FLUSH,
    INDEPENDENT,
    STREAM,
    PhaseMissCurve,
    PhaseTraffic,
)

SEEDS = st.integers(0, 10**6)
HAD = {"how": "measured", "source": "here"}
WHOLE = [name for name in ABLE_MODELS if MODELS.get(name).everything_far]


@given(seed=SEEDS, model=st.sampled_from([*ABLE_MODELS, "code"]))
@examples(40)
def test_moving_nothing_changes_nothing(seed: int, model: str):
    near = near_memory(samples.device())
    far = far_memory(samples.device("far", 300, 5, 3), near)
    for phase in phases_of(samples.workload(seed=seed)):
        time_ns = MODELS.get(model)(phase, near, far).times_ns(np.zeros(COLUMNS))
        assert float(time_ns) == pytest.approx(phase.near_time_ns.value)


@given(
    seed=SEEDS, model=st.sampled_from(WHOLE), factor=st.floats(1.0, 8.0), more=st.floats(1.0, 3.0)
)
@examples(60)
def test_slower_far_memory_is_never_faster(seed: int, model: str, factor: float, more: float):
    slow, slower = (
        samples.device("far", 90.0 * x, 12.0 / x, 9.0 / x) for x in (factor, factor * more)
    )
    first, second = times(samples.workload(seed=seed), model, slow, slower)
    assert second >= first * (1 - 1e-9)


@given(seed=SEEDS, model=st.sampled_from(WHOLE), more=st.floats(1.0, 4.0))
@examples(60)
def test_more_bandwidth_is_never_slower(seed: int, model: str, more: float):
    """Memories have no loaded-latency curve here: a stretched one would be another memory's."""
    narrow, wide = (
        msgspec.structs.replace(samples.device("far", 250.0, 4.0 * x, 3.0 * x), loaded_latency=[])
        for x in (1.0, more)
    )
    first, second = times(samples.workload(seed=seed), model, narrow, wide)
    assert second <= first * (1 + 1e-9)


def test_a_model_that_lacks_an_input_reports_it_and_the_others_continue():
    also = MODELS.names()
    (result,) = predict(
        profile=samples.workload(),
        near=samples.device(),
        far=[samples.device("far", 300, 5, 3)],
        models=also,
    ).devices
    message = " ".join(result.caveats)
    assert "memory-mode needs the size" in message
    assert "persist needs counts" in message
    assert {"chains", "counters", "traffic"} <= {each.model for each in result.total.models}
    with pytest.raises(ModelLacksError, match="persist needs counts"):
        predict(
            profile=samples.workload(),
            near=samples.device(),
            far=[samples.device("far", 300)],
            model="persist",
        )


def test_chains_moves_along_the_curves():
    near, far = samples.device(), samples.device("far", 360.0, 1000.0, 1000.0)
    # 4 chains near are 22.5 ns a miss; 4 far are 90.
    phase = counted_phase(near_time_ns=22.5e6, llc_misses=1e6)
    assert slowdown("chains", phase, near, far) == pytest.approx(4.0, rel=1e-6)


def test_interleave_divides_by_bandwidth_and_reaches_both_ends():
    near, far = near_memory(samples.device()), samples.device("far", 300.0, 4.0, 3.0)
    assert weights(near, far_memory(far, near)) == (3, 1)
    phase = counted_phase(near_time_ns=50e6, llc_misses=1e6)
    model = MODELS.get("interleave")(phase, near, far_memory(far, near))
    by_pages = {(each.near_pages, each.far_pages): each.time_ns for each in model.ratios()}
    assert by_pages[1, 0] == pytest.approx(phase.near_time_ns.value)
    assert by_pages[0, 1] == pytest.approx(
        float(MODELS.get("inversion")(phase, near, far_memory(far, near)).times_ns(phase.total))
    )
    assert by_pages[3, 1] == pytest.approx(float(model.times_ns(phase.total)))


def test_two_bandwidths_are_faster_than_one_where_bandwidth_binds():
    near, far = samples.device(), samples.device("far", 95.0, 12.0, 9.0)
    # At near memory's limit: 64 B / 12 GB/s a line, all of it bandwidth.
    phase = made({STREAM: 1e6}, near_time_ns=64.0 / 12.0 * 1e6, concurrency=4.0)
    assert slowdown("interleave", phase, plain(near), plain(far)) < 1.0


def test_direct_mapped_misses_follow_the_closed_form():
    """All reuse has one distance and is lost with probability 1 - exp(-d

    lines) in any cache.
    """
    sizes = 2.0 ** np.arange(15, 41)
    distance_bytes = 2.0**28
    curve = PhaseMissCurve(sizes, np.where(sizes < distance_bytes, 1e6, 0.0), 1 << 25)
    # Between two sizes of the curve, reuse is only known to a factor of 2.
    for cache_bytes in (1 << 27, 1 << 28, 1 << 30):
        low, high = (1.0 - math.exp(-distance_bytes * x / cache_bytes) for x in (0.5, 1.0))
        assert low <= scattered_share(curve, cache_bytes) <= high


def test_memory_mode_costs_both_where_nothing_fits_and_nothing_where_all_fits():
    workload = with_curves(samples.workload(), footprint_bytes=1 << 30)
    far = samples.device("far", 300.0, 5.0, 3.0)
    slow = [
        predict(profile=workload, near=with_capacity(size), far=[far], model="memory-mode")
        .devices[0]
        .total.slowdown.value
        for size in (1 << 20, 1 << 31, 1 << 40)
    ]
    (all_far,) = predict(
        profile=workload, near=samples.device(), far=[far], model="inversion"
    ).devices
    assert slow[0] > all_far.total.slowdown.value > slow[1] >= slow[2]
    assert slow[2] == pytest.approx(1.0, abs=0.01)
    (result,) = predict(
        profile=workload, near=with_capacity(1 << 29), far=[far], model="memory-mode"
    ).devices
    assert any("where pages are scattered" in caveat for caveat in result.caveats)
    # Contiguous data fit in as much; with scattered data some slots have two pages: the interval's
    # end.
    (fits,) = predict(
        profile=workload, near=with_capacity(1 << 30), far=[far], model="memory-mode"
    ).devices
    assert fits.total.slowdown.value < 1.01
    assert fits.total.slowdown.high > 1.1


def test_contiguous_data_conflict_only_beyond_the_cache():
    """In a sweep over F bytes, 2 (F - C)

    F of the lines lose their slot for C < F < 2 C.
    """
    sizes = 2.0 ** np.arange(15, 41)
    for used in (0.9, 1.0, 1.25, 1.5, 2.0, 3.5):
        cache_bytes = 1 << 28
        distance_bytes = used * cache_bytes
        curve = PhaseMissCurve(sizes, np.where(sizes < 2 * distance_bytes, 1e6, 0.0), 1 << 25)
        regions = contiguous_regions(curve, cache_bytes, distance_bytes)
        expected = min(max(2.0 * (used - 1.0) / used, 0.0), 1.0)
        share = sum(region.lines * region.misses for region in regions)
        assert share == pytest.approx(expected, abs=1e-6)
        assert sum(region.lines for region in regions) == pytest.approx(1.0)


@pytest.mark.parametrize(("column", "walked"), [(STREAM, True), (INDEPENDENT, False)])
def test_a_walk_passes_the_crowded_part_of_near_memory_after_the_rest(
    column: int, walked: bool
) -> None:
    """Its time adds; random accesses use the bandwidths of both memories at the same time."""
    sizes, used_bytes = 2.0 ** np.arange(15, 41), 1.25 * (1 << 30)
    curve = PhaseMissCurve(sizes, np.where(sizes < used_bytes, 1e6, 0.0), 1 << 25)
    # Bandwidth takes near time; far memory has an eighth of it.
    near, far = samples.device(), samples.device("far", 95.0, 1.5, 1.5)
    phase = replace(
        made({column: 1e6}, near_time_ns=4.0 * 64.0 / 12.0 * 1e6, concurrency=4.0),
        curve=curve,
        walked_bytes=used_bytes,
    )

    def slower(capacity_bytes: int) -> float:
        small = msgspec.structs.replace(near, capacity_bytes=capacity_bytes)
        return slowdown("memory-mode", phase, plain(small), plain(far))

    nothing_fits, two_fifths_miss = slower(1 << 20), slower(1 << 30)
    assert nothing_fits > 7.0
    added = 0.4 * (nothing_fits - 1.0)
    assert (two_fifths_miss - 1.0 == pytest.approx(added, rel=0.1)) is walked
    assert two_fifths_miss - 1.0 < 1.1 * added


def test_persist_replaces_the_waits_of_fences():
    near, far = (with_persist(samples.device(), 100.0), with_persist(samples.device("far"), 400.0))
    phase = made({FLUSH: 1e6, FENCE: 1e6}, near_time_ns=1e9)
    assert slowdown("persist", phase, near, far) == pytest.approx(1.3)
    # A fence without flushed lines waits for nothing.
    idle = made({FLUSH: 1e6, FENCE: 9e6}, near_time_ns=1e9)
    assert slowdown("persist", idle, near, far) == pytest.approx(1.3)
    # The default model does the same, because these were counted.
    assert slowdown("best", idle, near, far) == pytest.approx(1.3)
    with pytest.raises(NearfarError, match="latency of a persisted write"):
        slowdown("persist", phase, near, samples.device("far", 300.0))


def test_parallel_streams_are_counted_by_their_misses():
    workload = samples.workload(objects=3)
    phase = workload.phases[0]
    for instruction in workload.instructions:
        instruction.access_class = "stream"
    for row in phase.instructions:
        row.misses = 100.0
    assert concurrent_streams(workload, phase) == pytest.approx(3.0)
    phase.instructions[0].misses = 1e9
    assert concurrent_streams(workload, phase) == pytest.approx(1.0, abs=1e-3)
    phase.instructions.clear()
    assert concurrent_streams(workload, phase) == 1.0


def test_without_a_prefetcher_a_stream_waits_latency_over_parallelism():
    """Rows are open, so there is no queueing as in the chains curve of random lines."""
    memory = near_memory(samples.device(latency_ns=90.0, parallelism=4.0))
    lines = np.zeros(COLUMNS)
    lines[STREAM] = 1.0
    time = traffic_time(lines, memory, overlap_at(10.0 / 11.0), StreamFetch(prefetched=False), 1.0)
    assert float(time.loads) == pytest.approx(9.0)
    assert float(time.stream) == 0.0
    two = traffic_time(lines, memory, overlap_at(1.0), StreamFetch(at_once=2.0), 1.0)
    single = traffic_time(lines, memory, overlap_at(1.0), StreamFetch(), 1.0)
    assert float(single.stream) == pytest.approx(2.0 * float(two.stream))


def test_between_two_read_shares_the_surface_lies_between():
    reads = LoadedFactor(np.array([0.0, 10.0]), np.array([1.0, 3.0]))
    writes = LoadedFactor(np.array([0.0, 6.0]), np.array([1.0, 2.0]))
    half = interpolated_load(reads, writes, 0.5)
    assert half.end_gb_per_s == pytest.approx(8.0)
    assert half.greatest == pytest.approx(2.5)
    assert float(half.at(4.0)) == pytest.approx(1.75)


def test_the_surface_is_evaluated_at_the_programs_read_share():
    device = msgspec.structs.replace(
        samples.device(),
        loaded_latency=[
            LoadedLatencyCurve(read_share=share, points=[(0.0, 90.0), (end, 180.0)], **HAD)
            for share, end in ((1.0, 12.0), (0.5, 8.0))
        ],
    )
    memory = near_memory(device)
    ends = [memory.loaded_latency(share) for share in (1.0, 0.75, 0.5, 0.2)]
    assert [each.end_gb_per_s for each in ends if each] == pytest.approx([12.0, 10.0, 8.0, 8.0])


def test_a_load_beyond_the_curve_is_reported_and_widens_the_interval():
    near = samples.device()
    far = msgspec.structs.replace(samples.device("far", 120.0, 12.0, 9.0), chains=[])
    short = with_curve(far, [(0.0, 120.0), (0.5, 125.0)])
    long = with_curve(far, [(0.0, 120.0), (50.0, 125.0)])
    workload = samples.workload()
    cut, whole = predict(profile=workload, near=near, far=[short, long]).devices
    assert any("extrapolated" in caveat for caveat in cut.caveats)
    assert not any("extrapolated" in caveat for caveat in whole.caveats)
    assert width(cut.total.slowdown) > width(whole.total.slowdown)


def test_bandwidths_of_memories_on_one_channel_do_not_add():
    near, far = samples.device(), samples.device("far", 95.0, 12.0, 9.0)
    limit = JointLimit(
        memories=("near", "far"),
        alone_gb_per_s=(12.0, 12.0),
        together_gb_per_s=12.0,
        shared=True,
    )
    result = channel_sharing(samples.machine(limit), near, far)
    assert result is not None
    assert float(result.at(np.array(0.5))) == pytest.approx(0.5)
    assert float(result.at(np.array(0.0))) == float(result.at(np.array(1.0))) == 1.0
    turned = channel_sharing(samples.machine(limit), far, near)
    assert turned is not None
    assert channel_sharing(samples.machine(limit), near, samples.device("other")) is None
    workload = samples.workload()
    for phase in workload.phases:
        phase.near_wall_time_ns = phase.near_cpu_time_ns.value / 8
    workload.program.threads_seen = 8
    apart, shared = (
        predict(profile=workload, near=near, far=[far], model="interleave", machine=each)
        .devices[0]
        .total
        for each in (None, samples.machine(limit))
    )
    assert shared.far_time_ns.value > apart.far_time_ns.value


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_impossible_near_times_are_refused(value: float):
    workload = samples.workload()
    workload.phases[0].near_cpu_time_ns = Estimate(value, value, value)
    with pytest.raises(NearfarError, match="near time of phase 'load'"):
        predict(profile=workload, near=samples.device(), far=[samples.device("far", 300.0)])


def test_a_phase_without_time_is_reported():
    workload = samples.workload()
    workload.phases[0].near_cpu_time_ns = Estimate(0.0, 0.0, 0.0)
    (result,) = predict(
        profile=workload, near=samples.device(), far=[samples.device("far", 300.0)]
    ).devices
    assert any("near time of load is 0" in caveat for caveat in result.caveats)
    assert result.phases[0].slowdown.value == 1.0


def times(workload: WorkloadProfile, model: str, *fars: DeviceProfile) -> list[float]:
    devices = predict(profile=workload, near=samples.device(), far=list(fars), model=model).devices
    return [device.total.far_time_ns.value for device in devices]


def slowdown(name: str, phase: PhaseTraffic, near: DeviceProfile, far: DeviceProfile) -> float:
    near_side = near_memory(near)
    model: Model = MODELS.get(name)(phase, near_side, far_memory(far, near_side))
    return float(model.times_ns(phase.total)) / phase.near_time_ns.value


def made(columns: dict[int, float], near_time_ns: float, concurrency: float = 1.0) -> PhaseTraffic:
    lines = np.zeros((1, COLUMNS))
    for column, count in columns.items():
        lines[0, column] = count
    time = Estimate(near_time_ns, near_time_ns, near_time_ns)
    return PhaseTraffic("p", time, concurrency, None, lines, 0.0)


def plain(device: DeviceProfile) -> DeviceProfile:
    return msgspec.structs.replace(device, loaded_latency=[])


def with_curve(device: DeviceProfile, points: list[tuple[float, float]]) -> DeviceProfile:
    curve = LoadedLatencyCurve(read_share=1.0, points=points, **HAD)
    return msgspec.structs.replace(device, loaded_latency=[curve])


def with_capacity(capacity_bytes: int) -> DeviceProfile:
    return msgspec.structs.replace(samples.device(), capacity_bytes=capacity_bytes)


def with_persist(device: DeviceProfile, persist_ns: float) -> DeviceProfile:
    return msgspec.structs.replace(
        device,
        latency=[*device.latency, LatencyFigure(operation="clwb", value_ns=persist_ns, **HAD)],
        bandwidth=[*device.bandwidth, BandwidthFigure(operation="clwb", value_gb_per_s=2.0, **HAD)],
    )


def with_curves(workload: WorkloadProfile, footprint_bytes: int) -> WorkloadProfile:
    """Return a program in which every use is as far from the last as the whole footprint."""
    workload = copy.deepcopy(workload)
    sizes = [float(1 << power) for power in range(15, 41)]
    workload.curve_bytes = sizes
    for phase in workload.phases:
        for row in phase.objects:
            reads, writes = (
                classes.total() for classes in (row.traffic.read_misses, row.traffic.write_misses)
            )
            row.curve = MissCurve(
                read=[reads if size < footprint_bytes else 0.0 for size in sizes],
                write=[writes if size < footprint_bytes else 0.0 for size in sizes],
            )
    return workload


def width(estimate: Estimate) -> float:
    return (estimate.high - estimate.low) / estimate.value

"""Waits of fences and syncs: figures of two machines, missing counts, files on a disk."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import samples

from nearfar.api import predict
from nearfar.base.estimate import Estimate
from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.documents.workload import AccessClasses, Traffic
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.interval import far_estimate
from nearfar.predict.model import MODELS, Model, ModelLacksError, Perturbation
from nearfar.predict.rows import traffic_rows
from nearfar.predict.traffic import (
    COLUMNS,
    FENCE,
    FLUSH,
    NT_LINE,
    STORE,
    STORE_STREAM,
    Array,
    PhaseTraffic,
)

NEAR_NS = 1e9
FENCES = 1e6
SLOW = msgspec.structs.replace(samples.device("slow", 200.0), technology="dram")
"""A machine whose reads take longer than the host of Optane's persisted writes."""
OPTANE = "optane-100-6dimm"


def model_of(
    name: str, columns: dict[int, float], far: DeviceProfile, *, counted: bool = False
) -> Model:
    lines = np.zeros((1, COLUMNS))
    for column, count in columns.items():
        lines[0, column] = count
    time = Estimate(NEAR_NS, NEAR_NS, NEAR_NS)
    phase = PhaseTraffic("p", time, 1.0, None, lines, 0.0, flushes_counted=counted)
    near = near_memory(SLOW)
    return MODELS.get(name)(phase, near, far_memory(far, near))


def added_ns(model: Model) -> float:
    return (float(model.times_ns(model.phase.total)) - NEAR_NS) / FENCES


@pytest.mark.parametrize("name", ["persist", "best"])
@pytest.mark.parametrize("kind", [FLUSH, NT_LINE])
def test_a_published_wait_is_compared_with_dram_of_the_same_machine(name: str, kind: int):
    model = model_of(name, {kind: FENCES, FENCE: FENCES}, load_device(OPTANE))
    # FAST 2020, figure 2: a flushed line takes 62.3 ns in Optane and 57.3 ns in its machine's DRAM.
    assert added_ns(model) == pytest.approx(62.3 - 57.3)
    assert "62 ns" in model.remarks()[0]


def test_non_temporal_lines_cost_bandwidth_once():
    far = load_device(OPTANE)
    few, many = (
        added_ns(model_of("persist", {NT_LINE: lines, FENCE: FENCES}, far))
        for lines in (FENCES, 8 * FENCES)
    )
    assert many == pytest.approx(few)
    flushed = added_ns(model_of("persist", {FLUSH: 8 * FENCES, FENCE: FENCES}, far))
    assert flushed > few


def test_where_only_reads_are_known_near_flushing_is_never_faster_far():
    """A read of 200 ns substitutes a near wait; the far wait of 90 ns gives no gain."""
    bare = msgspec.structs.replace(load_device(OPTANE), host_dram=None)
    model = model_of("persist", {FLUSH: FENCES, FENCE: FENCES}, bare)
    assert added_ns(model) == pytest.approx(0.0, abs=1e-6)
    assert "a read's latency" in model.remarks()[0]


def test_zero_counts_are_accepted_and_missing_counts_are_not():
    far = samples.device("far", 300.0)
    model = model_of("persist", {}, far, counted=True)
    assert added_ns(model) == pytest.approx(0.0, abs=1e-6)
    assert model.remarks() == []
    with pytest.raises(ModelLacksError, match="persist needs counts"):
        model_of("persist", {}, far)


def test_a_profile_states_whether_it_counted():
    counted = msgspec.structs.replace(samples.workload(), flushes_counted=True)
    counted.phases[0].objects[0].traffic.flushes = FENCES
    # The other phase has no fences, which is no reason to refuse the program.
    (result,) = predict(
        profile=counted, near=SLOW, far=[load_device(OPTANE)], model="persist"
    ).devices
    assert len(result.phases) == 2
    with pytest.raises(ModelLacksError, match="persist needs counts"):
        predict(profile=samples.workload(), near=SLOW, far=[load_device(OPTANE)], model="persist")


def test_the_default_continues_where_far_memory_lacks_the_figure_and_reports_it():
    model = model_of("best", {FLUSH: FENCES, FENCE: FENCES}, samples.device("far", 300.0))
    assert added_ns(model) == pytest.approx(0.0, abs=1e-6)
    assert "left out" in model.remarks()[0]


def test_half_of_the_fences_add_half_and_errors_of_figures_widen_the_interval():
    model = model_of("persist", {FLUSH: FENCES, FENCE: FENCES}, load_device(OPTANE))
    half = float(model.times_ns(model.phase.total / 2)) - NEAR_NS
    assert half == pytest.approx(added_ns(model) * FENCES / 2)
    result = far_estimate(type(model), model.phase, model.given_near, model.given_far, model)
    assert result.far_time_ns.low < result.far_time_ns.value < result.far_time_ns.high
    slower = type(model)(
        model.phase, model.given_near, model.given_far, Perturbation(far_latency=2.0)
    )
    assert added_ns(slower) == pytest.approx(2 * 62.3 - 57.3)


@pytest.mark.parametrize("name", ["persist", "best"])
def test_each_fence_waits_for_the_line_that_a_store_fetches_first(name: str):
    stored = {STORE: FENCES, FLUSH: FENCES, FENCE: FENCES}
    model = model_of(name, stored, load_device(OPTANE))
    fetched_ns = model.far.latency_ns - model.near.latency_ns
    assert added_ns(model) == pytest.approx(fetched_ns + 62.3 - 57.3, rel=0.1)
    half = float(model.times_ns(model.phase.total / 2)) - NEAR_NS
    assert half == pytest.approx(added_ns(model) * FENCES / 2, rel=0.1)
    result = far_estimate(type(model), model.phase, model.given_near, model.given_far, model)
    assert result.far_time_ns.low <= NEAR_NS + 0.6 * fetched_ns * FENCES
    # Without fences they wait in the store buffer; sequential stores may have been prefetched.
    assert added_ns(model_of("best", {STORE: FENCES}, load_device(OPTANE))) < 0.2 * fetched_ns
    streamed = model_of(
        name, {STORE_STREAM: FENCES, FLUSH: FENCES, FENCE: FENCES}, load_device(OPTANE)
    )
    assert added_ns(streamed) < 0.5 * fetched_ns
    assert max(streamed.times_to_cover_ns()) > NEAR_NS + 0.9 * fetched_ns * FENCES


def test_fences_wait_for_fetches_where_far_memory_has_no_figure_of_flushing():
    far = samples.device("far", 500.0)
    model = model_of("best", {STORE: FENCES, FLUSH: FENCES, FENCE: FENCES}, far)
    assert added_ns(model) > 0.8 * (model.far.latency_ns - model.near.latency_ns)


def test_the_default_reports_uncounted_flushes_where_some_are_possible():
    uncounted = samples.workload()

    def says(workload: WorkloadProfile, far: DeviceProfile) -> bool:
        (result,) = predict(profile=workload, near=SLOW, far=[far]).devices
        return any("does not count flushes" in sentence for sentence in result.caveats)

    assert says(uncounted, load_device(OPTANE))
    assert not says(uncounted, SLOW)
    assert not says(msgspec.structs.replace(uncounted, flushes_counted=True), load_device(OPTANE))
    uncounted.objects[0].kind = "file"
    assert says(uncounted, SLOW)


def test_misses_seen_in_sequence_are_not_reported_as_without_pattern():
    opaque = samples.workload()
    for row in (row for phase in opaque.phases for row in phase.objects):
        row.traffic.read_misses = AccessClasses(opaque=1e5)
        row.traffic.write_misses = AccessClasses()
        row.traffic.read_sequential = AccessClasses()
    in_sequence = msgspec.json.decode(msgspec.json.encode(opaque), type=WorkloadProfile)
    for row in (row for phase in in_sequence.phases for row in phase.objects):
        row.traffic.read_sequential = AccessClasses(opaque=1e5)
    message = [
        predict(profile=each, near=SLOW, far=[SLOW]).devices[0].caveats
        for each in (opaque, in_sequence)
    ]
    results = [" ".join(sentences) for sentences in message]
    assert ["follow no detected pattern" in sentences for sentences in results] == [True, False]
    assert ["are streams" in sentences for sentences in results] == [False, True]


SSD = "ssd-dc-s4600"
WRITE_NS = 52_000.0 - 57.3
"""Intel's specification: 52 us; less what flushing to the host's DRAM takes (FAST 2020)."""

TURN_NS = 4096 / 0.49
"""The specification's sustained sequential write, GB/s: sooner than its 65,000 random ones."""

JOURNAL_NS = 2 * 36_000.0
"""Two sequential writes beside."""


def sync_model(name: str, lines: Array) -> Model:
    near = near_memory(samples.device("host", 100.0))
    time = Estimate(NEAR_NS, NEAR_NS, NEAR_NS)
    phase = PhaseTraffic("p", time, 1.0, None, lines, 0.0, flushes_counted=True)
    return MODELS.get(name)(phase, near, far_memory(load_device(SSD), near))


@pytest.mark.parametrize("name", ["persist", "best"])
def test_each_counted_sync_waits_once(name: str):
    lines = traffic_rows([Traffic(syncs=1e4, sync_bytes=1e4 * 4096)], np.zeros(1))
    model = sync_model(name, lines)
    assert FENCES * added_ns(model) == pytest.approx(1e4 * WRITE_NS, rel=1e-3)
    ends = [end - NEAR_NS for end in model.times_to_cover_ns()]
    # Their number is known; the wait of each depends on the drive's cache and on a journal.
    assert min(ends) == pytest.approx(1e4 * TURN_NS, rel=5e-3)
    assert max(ends) == pytest.approx(1e4 * (WRITE_NS + JOURNAL_NS), rel=5e-3)


@pytest.mark.parametrize("name", ["persist", "best"])
def test_flushes_are_synced_between_once_a_fence_and_once_a_line(name: str):
    lines = np.zeros((1, COLUMNS))
    lines[0, [FENCE, FLUSH, NT_LINE]] = 6e3, 5e3, 6e3
    model = sync_model(name, lines)
    assert 6e3 * WRITE_NS < FENCES * added_ns(model) < 11e3 * WRITE_NS
    ends = [end - NEAR_NS for end in model.times_to_cover_ns()]
    # Lines beyond one per fence still take their bandwidth.
    assert min(ends) == pytest.approx(6e3 * TURN_NS, rel=0.03)
    assert max(ends) == pytest.approx(11e3 * (WRITE_NS + JOURNAL_NS), rel=1e-3)


def test_persistent_memory_waits_for_fences_only():
    near = near_memory(samples.device("host", 100.0))
    lines = np.zeros((1, COLUMNS))
    lines[0, [FENCE, FLUSH]] = 1e3, 4e3
    time = Estimate(NEAR_NS, NEAR_NS, NEAR_NS)
    phase = PhaseTraffic("p", time, 1.0, None, lines, 0.0, flushes_counted=True)
    model = MODELS.get("persist")(phase, near, far_memory(load_device("optane-200"), near))
    assert FENCES * added_ns(model) < 4e3 * 1000.0

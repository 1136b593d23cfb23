"""Invariants for any program."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import samples
from able_models import ABLE_MODELS
from hypothesis import given
from hypothesis import strategies as st
from property_examples import examples

from nearfar.api import predict
from nearfar.base.estimate import Estimate
from nearfar.documents import WorkloadProfile
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.model import MODELS
from nearfar.predict.phases import phases_of
from nearfar.predict.traffic import COLUMNS

SEEDS = st.integers(0, 10**6)
MODEL_NAMES = ABLE_MODELS


@given(seed=SEEDS, model=st.sampled_from(MODEL_NAMES))
@examples(25)
def test_far_that_equals_near_changes_nothing(seed: int, model: str):
    prediction = predict(
        profile=samples.workload(seed=seed),
        near=samples.device(),
        far=[samples.device("far")],
        model=model,
    )
    for phase in prediction.devices[0].phases:
        assert phase.slowdown.value == pytest.approx(1.0, rel=1e-6)
        assert phase.slowdown.low <= 1.0 <= phase.slowdown.high


@given(seed=SEEDS, model=st.sampled_from(MODEL_NAMES))
@examples(15)
def test_near_compared_with_itself_has_no_width(seed: int, model: str):
    """Both memories have the same error, which cancels."""
    near = samples.device()
    (result,) = predict(
        profile=samples.workload(seed=seed), near=near, far=[near], model=model
    ).devices
    for phase in [*result.phases, result.total]:
        assert phase.slowdown.low == phase.slowdown.high == 1.0
        assert phase.far_time_ns == phase.near_time_ns
    assert any("changes nothing" in caveat for caveat in result.caveats)


@given(seed=SEEDS, factor=st.floats(1.01, 8.0), bandwidth=st.floats(0.5, 8.0))
@examples(25)
def test_a_slower_memory_makes_no_object_faster(seed: int, factor: float, bandwidth: float):
    """This also holds if it has more bandwidth than one core draws from near memory."""
    far = samples.device("far", 90.0 * factor, 12.0 * bandwidth, 9.0 * bandwidth)
    (result,) = predict(
        profile=samples.workload(seed=seed), near=samples.device(), far=[far]
    ).devices
    for phase in result.phases:
        if phase.far_time_ns.value >= phase.near_time_ns.value:
            assert min(effect.added_ns.value for effect in phase.objects) >= 0.0


@given(seed=SEEDS, factor=st.floats(1.0, 8.0), more=st.floats(1.0, 3.0))
@examples(25)
def test_slower_memory_is_never_faster(seed: int, factor: float, more: float):
    workload, near = samples.workload(seed=seed), samples.device()
    slow, slower = (
        samples.device(f"far-{x:g}", 90.0 * x, 12.0 / x, 9.0 / x) for x in (factor, factor * more)
    )
    first, second = predict(profile=workload, near=near, far=[slow, slower]).devices
    assert first.total.far_time_ns.value >= first.total.near_time_ns.value * (1 - 1e-9)
    assert second.total.far_time_ns.value >= first.total.far_time_ns.value * (1 - 1e-9)


@given(seed=SEEDS, scale=st.floats(0.01, 100.0))
@examples(20)
def test_twice_the_run_takes_twice_the_time(seed: int, scale: float):
    """Scaling counts and near time together scales far time and keeps the slowdown."""
    small = samples.workload(seed=seed)
    near, far = samples.device(), samples.device("far", 300, 5, 3)
    first, other = (
        predict(profile=workload, near=near, far=[far]).devices[0].total
        for workload in (small, scaled(small, scale))
    )
    assert other.far_time_ns.value == pytest.approx(scale * first.far_time_ns.value, rel=1e-6)
    assert other.slowdown.high == pytest.approx(first.slowdown.high, rel=1e-6)


@given(seed=SEEDS, model=st.sampled_from(MODEL_NAMES), objects=st.integers(1, 30))
@examples(25)
def test_objects_and_phases_sum_to_the_whole(seed: int, model: str, objects: int):
    prediction = predict(
        profile=samples.workload(objects=objects, seed=seed),
        near=samples.device(),
        far=[samples.device("far", 300, 5, 3)],
        model=model,
    )
    device = prediction.devices[0]
    for phase in [*device.phases, device.total]:
        added = phase.far_time_ns.value - phase.near_time_ns.value
        assert sum(o.added_ns.value for o in phase.objects) == pytest.approx(added, abs=1.0)
    assert device.total.far_time_ns.value == pytest.approx(
        sum(phase.far_time_ns.value for phase in device.phases)
    )


@given(seed=SEEDS)
@examples(20)
def test_intervals_contain_their_value_and_the_order_of_objects_does_not_matter(seed: int):
    workload = samples.workload(seed=seed)
    near, far = samples.device(), samples.device("far", 300, 5, 3)
    total = predict(profile=workload, near=near, far=[far]).devices[0].total
    for estimate in (total.far_time_ns, total.slowdown, *(o.added_ns for o in total.objects)):
        assert estimate.low <= estimate.value <= estimate.high
    for phase in workload.phases:
        phase.objects.reverse()
    again = predict(profile=workload, near=near, far=[far]).devices[0].total
    assert again.far_time_ns.value == pytest.approx(total.far_time_ns.value)


@given(seed=SEEDS)
@examples(15)
def test_many_placements_at_once_equal_single_ones(seed: int):
    workload = samples.workload(seed=seed)
    near = near_memory(samples.device())
    far = far_memory(samples.device("far", 300, 5, 3), near)
    traffic = phases_of(workload)[0]
    model = MODELS.get("inversion")(traffic, near, far)
    shares = np.random.default_rng(seed).random((5, len(workload.objects)))
    moved = shares @ traffic.objects
    together = model.times_ns(moved)
    assert together == pytest.approx([float(model.times_ns(row)) for row in moved])
    # Nothing far gives exactly the measured near time.
    assert float(model.times_ns(np.zeros(COLUMNS))) == pytest.approx(traffic.near_time_ns.value)


def test_wider_near_time_gives_a_wider_interval():
    near, far = samples.device(), samples.device("far", 300, 5, 3)
    narrow, wide = samples.workload(), samples.workload()
    for phase in wide.phases:
        value = phase.near_cpu_time_ns.value
        phase.near_cpu_time_ns = Estimate(value, value * 0.7, value * 1.4)
    first, second = (
        predict(profile=workload, near=near, far=[far]).devices[0].total.far_time_ns
        for workload in (narrow, wide)
    )
    assert second.high - second.low > first.high - first.low


def scaled(workload: WorkloadProfile, factor: float) -> WorkloadProfile:
    workload = copy.deepcopy(workload)
    for phase in workload.phases:
        near = phase.near_cpu_time_ns
        phase.near_cpu_time_ns = Estimate(
            near.value * factor, near.low * factor, near.high * factor
        )
        phase.near_wall_time_ns *= factor
        for row in phase.objects:
            row.traffic.accesses *= factor
            row.traffic.write_backs *= factor
            for classes in (row.traffic.read_misses, row.traffic.write_misses):
                for name in classes.__struct_fields__:
                    setattr(classes, name, getattr(classes, name) * factor)
        for counted in phase.instructions:
            counted.misses *= factor
    return workload

"""The breakdown of a time into its parts agrees with the prediction."""

from __future__ import annotations

import copy

import pytest
import samples

from nearfar.api import predict
from nearfar.base.errors import NearfarError
from nearfar.devices.library import load_device

NEAR, FAR = samples.device(), load_device("optane-100-6dimm")
WORKLOAD = samples.workload()


def test_a_phase_is_broken_down_as_predicted():
    (device,) = predict(profile=WORKLOAD, near=NEAR, far=[FAR], explain=["get"]).devices
    (entry,) = device.explained
    (phase,) = (phase for phase in device.phases if phase.phase == "get")
    assert not entry.is_object
    assert entry.far_time_ns == phase.far_time_ns.value
    assert entry.added_ns == pytest.approx(phase.far_time_ns.value - phase.near_time_ns.value)
    assert entry.bound == phase.bound
    assert entry.overlap_near is not None
    assert 0.0 < entry.bandwidth_share_near <= 1.0
    widths = [effect.high_ns - effect.low_ns for effect in entry.effects]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 0.0


def test_an_object_is_broken_down_in_each_phase():
    name = WORKLOAD.objects[0].name
    (device,) = predict(profile=WORKLOAD, near=NEAR, far=[FAR], explain=[name]).devices
    assert [entry.phase for entry in device.explained] == ["load", "get"]
    for entry, phase in zip(device.explained, device.phases, strict=True):
        (effect,) = (effect for effect in phase.objects if effect.name == name)
        assert entry.added_ns == pytest.approx(effect.added_ns.value)
        assert entry.misses == pytest.approx(effect.misses)


def test_the_function_of_an_object_names_it():
    workload = copy.deepcopy(WORKLOAD)
    workload.objects[0].name = "build_table lookup.cpp:41 (vector::vector)"
    (device,) = predict(profile=workload, near=NEAR, far=[FAR], explain=["build_table"]).devices
    assert {entry.name for entry in device.explained} == {workload.objects[0].name}


def test_the_input_with_the_largest_effect_is_named():
    """In a chase on a memory of uncertain latency, latency has the largest effect."""
    (device,) = predict(profile=WORKLOAD, near=NEAR, far=[FAR], explain=["get"]).devices
    assert "far latency" in [effect.input for effect in device.explained[0].effects]


def test_an_unknown_name_lists_the_nearest_names():
    with pytest.raises(NearfarError, match="'gett'; the nearest are: get"):
        predict(profile=WORKLOAD, near=NEAR, far=[FAR], explain=["gett"])

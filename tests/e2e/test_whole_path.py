"""From a program to a report: each stage reads the previous stage's output."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.documents import DeviceProfile, Plan, Prediction, WorkloadProfile, load
from nearfar.documents.device import LatencyFigure
from nearfar.documents.plan import Placement

from .conftest import WholePath


def random_read_ns(figures: list[LatencyFigure]) -> float:
    return max(f.value_ns for f in figures if f.operation == "read" and f.pattern == "random")


def test_the_profile_names_the_programs_own_structures(whole_path: WholePath) -> None:
    profile = load(whole_path.run, WorkloadProfile)
    phases = {phase.name: phase for phase in profile.phases}
    assert {"index", "query"} <= set(phases)
    assert phases["query"].operations == 200_000
    assert phases["query"].near_cpu_time_ns.value > 0
    heap = [each for each in profile.objects if each.kind == "heap" and each.frames]
    files = {Path(frame.file).name for each in heap for frame in each.frames}
    assert "inverted_index.cpp" in files
    touched = {row.object for row in phases["query"].objects if row.traffic.accesses > 0}
    assert touched & {each.id for each in heap}


@pytest.mark.timing
def test_far_memory_is_predicted_slower_and_within_its_interval(whole_path: WholePath) -> None:
    prediction = load(whole_path.prediction, Prediction)
    (device,) = prediction.devices
    assert device.far == "optane-100-6dimm"
    for phase in [*device.phases, device.total]:
        assert phase.slowdown.low <= phase.slowdown.value <= phase.slowdown.high
        # A phase without misses gains at most from idle bandwidth: less than is measurable.
        assert phase.slowdown.value >= 1.0 - 1e-6
        assert {"null", "latency-ratio", "misses"} <= {model.model for model in phase.models}
    near = load(whole_path.near, DeviceProfile)
    assert random_read_ns(near.latency) > 0


def near_share(item: Placement) -> float:
    """Return the share of an object's bytes that the plan puts near."""
    if item.interleave:
        return item.interleave.get("near", 0) / sum(item.interleave.values())
    if item.parts:
        return sum(part.share for part in item.parts if part.memory == "near")
    return float(item.memory == "near")


def test_the_plan_respects_its_budget_and_beats_all_far(whole_path: WholePath) -> None:
    plan = load(whole_path.plan, Plan)
    near_bytes = sum(item.size_bytes * near_share(item) for item in plan.placements)
    assert 0 < near_bytes <= plan.budget_bytes
    bars = {bar.name: bar for bar in plan.alternatives}
    # Idle bandwidth of the second memory may help by less than is measurable.
    assert bars["all-near"].time_ns.value <= bars["optimal"].time_ns.value * (1 + 1e-6)
    assert bars["optimal"].time_ns.value <= bars["greedy"].time_ns.value * (1 + 1e-9)
    assert bars["greedy"].time_ns.value <= bars["all-far"].time_ns.value


def test_the_report_is_one_file_without_external_links(whole_path: WholePath) -> None:
    page = whole_path.report.read_text()
    assert "inverted_index" in page
    for marker in ('src="http', "src='http", 'href="http', "@import", "url(http"):
        assert marker not in page

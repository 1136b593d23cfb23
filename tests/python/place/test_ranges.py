"""Plans of ranges: what differs is split, noise is not, and no half of the sample decides alone."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import samples

from nearfar.api import place
from nearfar.documents import Plan, WorkloadProfile
from nearfar.documents.workload import RangeTraffic
from nearfar.place.problem import make_problem
from nearfar.place.ranges import joined_ranges, ranged_problem
from nearfar.predict.object_effects import least_added_by_object_ns

NEAR = samples.device()
FAR = samples.device("far", 300.0, 5.0, 3.0)
RANGES, RANGE_BYTES = 64, 1 << 20


def with_heat(expected: np.ndarray, seed: int = 0) -> WorkloadProfile:
    """Return a program of one array whose sampled lines by range are Poisson around `expected`."""
    workload = samples.workload(objects=1, seed=3, phases=("run",))
    item, row = workload.objects[0], workload.phases[0].objects[0]
    item.kind, item.allocations = "heap", 1
    item.size_bytes = item.allocated_bytes = item.peak_live_bytes = RANGES * RANGE_BYTES
    item.range_bytes = RANGE_BYTES
    halves = np.random.default_rng(seed).poisson(expected / 2, (2, len(expected))).astype(float)
    # The counts are of all lines, so that the sampled ones are `halves`.
    total = row.traffic.misses() + row.traffic.write_backs
    rate = total / halves.sum()
    row.ranges = RangeTraffic(
        read_misses=(halves.sum(axis=0) * rate).tolist(),
        write_misses=[0.0] * RANGES,
        write_backs=[0.0] * RANGES,
        second_half=(halves[1] * rate).tolist(),
    )
    workload.sampling = msgspec.structs.replace(workload.sampling, rate=max(1, round(rate)))
    return workload


def plan_of(workload: WorkloadProfile, budget: str | None = "25%", **options: object) -> Plan:
    return place(profile=workload, near=NEAR, far=FAR, budget=budget, **options)


def test_a_hot_range_is_near_and_the_plan_says_where() -> None:
    heat = np.full(RANGES, 20.0)
    heat[24:36] = 400.0
    plan = plan_of(with_heat(heat))
    (placed,) = (row for row in plan.placements if row.size_bytes == RANGES * RANGE_BYTES)
    near = [part for part in placed.parts if part.memory == "near"]
    assert sum(part.share for part in placed.parts) == pytest.approx(1.0)
    assert sum(part.share for part in near) <= 0.25 + 1e-9
    covered = sum(
        max(0, min(part.end_bytes, 36 << 20) - max(part.begin_bytes, 24 << 20)) for part in near
    )
    assert covered == 12 << 20
    ends = [0, *(part.end_bytes for part in placed.parts)]
    assert [part.begin_bytes for part in placed.parts] == ends[:-1]
    assert ends[-1] == RANGES * RANGE_BYTES
    times = {bar.name: bar.time_ns.value for bar in plan.alternatives}
    added = {name: time - times["all-near"] for name, time in times.items()}
    assert added["plan"] < 0.5 * added["page-interleaved"]
    assert all(times["plan"] <= times[name] for name in ("hot-first", "x-mem", "greedy"))
    assert any("1 object is placed by range" in caveat for caveat in plan.caveats)


def test_ranges_have_costs_of_their_own_after_those_of_whole_objects() -> None:
    heat = np.full(RANGES, 20.0)
    heat[24:36] = 400.0
    workload = with_heat(heat)
    problem = make_problem(workload, NEAR, FAR)
    whole_ns = problem.sum_by_input(least_added_by_object_ns)[0, :, 1]
    ranged = ranged_problem(problem, workload)
    assert ranged is not None
    for each in (ranged.problem, *ranged.halves):
        ranges_ns = each.sum_by_input(least_added_by_object_ns)[0, :, 1]
        assert len(ranges_ns) == len(ranged.parents) > 1
        assert ranges_ns.max() < whole_ns.sum()


@pytest.mark.parametrize("lines", [0.5, 5.0, 50.0, 5000.0])
def test_noise_is_no_heat(lines: float) -> None:
    for seed in range(10):
        plan = plan_of(with_heat(np.full(RANGES, lines), seed))
        assert not any(part.end_bytes for row in plan.placements for part in row.parts)


def test_one_hot_line_is_no_hot_range() -> None:
    """A single line with a thousand misses is in one half of the sample alone."""
    halves = np.random.default_rng(1).poisson(10.0, (2, RANGES)).astype(float)
    halves[0, 17] += 1000
    assert joined_ranges(halves, np.full(RANGES, float(RANGE_BYTES)))[-1] == 0


def test_whole_objects_stay_whole_on_request() -> None:
    heat = np.full(RANGES, 20.0)
    heat[:8] = 400.0
    plan = plan_of(with_heat(heat), allow=["whole"])
    assert not any(row.parts for row in plan.placements)


def test_more_near_memory_is_never_slower_by_range() -> None:
    heat = np.full(RANGES, 20.0)
    heat[24:36] = 400.0
    workload, last = with_heat(heat), float("inf")
    for percent in range(10, 100, 6):
        bars = plan_of(workload, budget=f"{percent}%", details=False).alternatives
        slowdown = next(bar for bar in bars if bar.name == "plan").slowdown.value
        assert slowdown <= last * (1 + 1e-9), percent
        last = slowdown


def test_a_goal_takes_ranges_apart() -> None:
    heat = np.full(RANGES, 20.0)
    heat[24:36] = 400.0
    workload = with_heat(heat)
    most = next(bar for bar in plan_of(workload).alternatives if bar.name == "plan").slowdown.value
    goal = plan_of(workload, budget=None, slo=most)
    assert goal.goal is not None
    assert goal.goal.reached
    assert 0.2 * goal.footprint_bytes < goal.budget_bytes <= 0.26 * goal.footprint_bytes
    (placed,) = (row for row in goal.placements if row.size_bytes == RANGES * RANGE_BYTES)
    assert any(part.end_bytes for part in placed.parts)
    whole = plan_of(workload, budget=None, slo=most, allow=["whole"])
    assert whole.budget_bytes > 2 * goal.budget_bytes


def test_a_plan_with_ranges_survives_its_file(tmp_path) -> None:
    heat = np.full(RANGES, 20.0)
    heat[:8] = 400.0
    plan = plan_of(with_heat(heat))
    again = msgspec.json.decode(msgspec.json.encode(plan), type=Plan)
    assert again.placements == plan.placements

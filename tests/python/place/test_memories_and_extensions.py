"""Several memories, limits, parts, interleaves and moves: invariants and calculated cases."""

from __future__ import annotations

import itertools
from pathlib import Path

import msgspec
import numpy as np
import pytest
import samples
from hypothesis import given
from hypothesis import strategies as st
from property_examples import examples

from nearfar.api import place
from nearfar.base.errors import CommandError, NearfarError
from nearfar.documents import Plan, WorkloadProfile, producer, save
from nearfar.documents.machine import JointLimit, MachineProfile, Split
from nearfar.documents.plan import Alternative
from nearfar.documents.profiled_run import LiveSample
from nearfar.documents.workload import AccessClasses, MissCurve, Traffic
from nearfar.options.place import Allowed
from nearfar.place.assignment import assign, saved_ns
from nearfar.place.capacity import CapacityLimits
from nearfar.place.problem import problem_of
from nearfar.predict.derive import near_memory
from nearfar.predict.phases import phases_of

SEEDS = st.integers(0, 10**6)
NEAR = samples.device()
CXL = samples.device("cxl", 200.0, 8.0, 7.0)
PMEM = samples.device("pmem", 300.0, 5.0, 1.0)
MIB = 1 << 20


def bar(plan: Plan, name: str) -> Alternative:
    return next(result for result in plan.alternatives if result.name == name)


def two(objects: list[tuple[int, Traffic]], near_ns: float, threads: int = 1) -> WorkloadProfile:
    """Return a program of one phase whose objects have these sizes and this traffic."""
    workload = samples.workload(objects=len(objects), phases=("run",))
    for row, item, (size, traffic) in zip(
        workload.phases[0].objects, workload.objects, objects, strict=True
    ):
        row.traffic = traffic
        item.size_bytes = item.allocated_bytes = size
        item.allocations = 1
    phase = workload.phases[0]
    phase.near_cpu_time_ns = type(phase.near_cpu_time_ns)(near_ns, near_ns, near_ns)
    phase.near_wall_time_ns = near_ns / threads
    workload.program.threads_seen = threads
    return workload


def chase(misses: float) -> Traffic:
    return Traffic(accesses=misses, read_misses=AccessClasses(chase=misses))


@given(seed=SEEDS, shares=st.lists(st.floats(0.05, 0.6), min_size=2, max_size=2))
@examples(20)
def test_the_assignment_is_the_best_of_all_and_its_gap_is_true(seed: int, shares: list[float]):
    rng = np.random.default_rng(seed)
    sizes = 2 ** rng.uniform(3, 8, 6)
    costs = np.column_stack([np.zeros(6), rng.uniform(0, 9, 6), rng.uniform(0, 20, 6)])
    limits = CapacityLimits(np.eye(3)[:2], np.array(shares) * sizes.sum())
    assignment = assign(costs, sizes, limits)
    used = np.bincount(assignment.memory, weights=sizes, minlength=3)
    assert limits.allow(used)
    best = max(
        saved_ns(costs, np.array(every))
        for every in itertools.product(range(3), repeat=6)
        if limits.allow(np.bincount(every, weights=sizes, minlength=3))
    )
    got = saved_ns(costs, assignment.memory)
    assert got == pytest.approx(best, rel=2e-4, abs=1e-6)
    assert best <= got * (1 + assignment.gap) + 1e-6


@given(seed=SEEDS, shares=st.tuples(st.floats(0.05, 0.5), st.floats(0.1, 0.6)))
@examples(5)
def test_plans_respect_every_capacity_and_the_order_of_bars(
    tmp_path_factory: pytest.TempPathFactory, seed: int, shares: tuple[float, float]
):
    workload = samples.workload(seed=seed)
    footprint = sum(each.size_bytes for each in workload.objects)
    capacity = int(shares[1] * footprint)
    fars = samples.memories(tmp_path_factory.mktemp("memories"), (CXL, capacity), (PMEM, None))
    plan = place(
        profile=workload,
        near=NEAR,
        memories=fars,
        budget=f"{int(shares[0] * footprint)}B",
        allow=["parts"],
        details=False,
    )
    near, cxl, pmem = plan.memories
    assert (cxl.name, pmem.name) == ("cxl", "pmem")
    assert near.used_bytes <= plan.budget_bytes
    assert cxl.used_bytes <= capacity
    assert abs(near.used_bytes + cxl.used_bytes + pmem.used_bytes - footprint) <= 3
    times = {result.name: result.time_ns.value for result in plan.alternatives}
    assert times["optimal"] <= times["greedy"] * (1 + 1e-9)
    assert times.get("plan", 0.0) <= times["optimal"] * (1 + 1e-9)
    for row in plan.placements:
        if row.parts:
            assert sum(part.share for part in row.parts) == pytest.approx(1.0)


@pytest.mark.parametrize("model", ["best", "misses", "chains"])
def test_a_far_memory_beside_another_is_timed_as_alone(model: str):
    workload = samples.workload()
    phases, near = phases_of(workload), near_memory(NEAR, None)
    both = problem_of(workload, phases, near, [CXL, PMEM], model=model)
    for memory, device in ((1, CXL), (2, PMEM)):
        alone = problem_of(workload, phases, near, [device], model=model)
        shares = np.zeros((len(workload.objects), 3))
        shares[:4, 0] = 1.0
        shares[4:, memory] = 1.0
        expected = float(alone.times_ns(shares[:, 0]))
        assert float(both.shared_times_ns(shares)) == pytest.approx(expected, rel=1e-3)


def test_two_far_memories_serve_streams_in_parallel():
    """Bandwidths of several memories add: half in each is faster than everything in either."""
    stream = Traffic(accesses=1e7, read_misses=AccessClasses(stream=1e7))
    workload = two([(64 * MIB, stream), (64 * MIB, stream)], 8 * 2e7 * 64 / 12, threads=8)
    slow = [samples.device(name, 100.0, 2.0, 2.0) for name in ("one", "other")]
    problem = problem_of(workload, phases_of(workload), near_memory(NEAR, None), slow)
    apart = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    same = np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    times = problem.shared_times_ns(np.stack([apart, same]))
    assert times[0] < 0.7 * times[1]


def test_bandwidths_of_memories_on_the_same_channels_do_not_add():
    stream = Traffic(accesses=1e7, read_misses=AccessClasses(stream=1e7))
    workload = two([(64 * MIB, stream), (64 * MIB, stream)], 8 * 2e7 * 64 / 12, threads=8)
    slow = [samples.device(name, 100.0, 2.0, 2.0) for name in ("one", "other")]
    limit = JointLimit(
        memories=("one", "other"),
        alone_gb_per_s=(2.0, 2.0),
        together_gb_per_s=2.0,
        shared=True,
        splits=[Split(copies=("A->A", "B->B"), threads=(1, 1), gb_per_s=(1.0, 1.0))],
    )
    phases, near = phases_of(workload), near_memory(NEAR, None)
    apart = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    free, held = (
        float(problem_of(workload, phases, near, slow, machine=each).shared_times_ns(apart))
        for each in (None, machine(limit))
    )
    assert held > 1.5 * free


def machine(limit: JointLimit) -> MachineProfile:
    return MachineProfile(
        producer=producer(["tests"]), cpu_model="made up", architecture="x86_64", sockets=1,
        cores=2, cpus=[0, 1], threads_per_core=1, vector_extensions=[], caches=[], nodes=[],
        transparent_huge_pages="never", huge_pages={}, persistent_memory=[], cxl=[],
        virtualisation="none", abilities=[], joint_limits=[limit],
    )  # fmt: skip


def test_written_data_go_where_writes_are_cheap(tmp_path: Path):
    """Two far memories differ in writes; one object reads, one writes; each memory fits one."""
    reads = Traffic(accesses=1e7, read_misses=AccessClasses(stream=1e7))
    writes = Traffic(accesses=1e7, write_misses=AccessClasses(stream=1e7), write_backs=1e7)
    workload = two([(64 * MIB, reads), (64 * MIB, writes)], 4e7 * 64 / 9)
    fars = samples.memories(
        tmp_path,
        (samples.device("for-reads", 200.0, 6.0, 0.5), 64 * MIB),
        (samples.device("for-both", 210.0, 5.8, 5.0), 64 * MIB),
    )
    plan = place(profile=workload, near=NEAR, memories=fars, budget="0")
    assert [row.memory for row in plan.placements] == ["for-reads", "for-both"]
    assert any("writes decide 2 of 2 choices" in caveat for caveat in plan.caveats)
    ratios = [memory.write_over_read for memory in plan.memories]
    assert ratios[1] > 2 * ratios[2]


def test_part_of_an_object_larger_than_the_budget_stays_near():
    workload = two([(64 * MIB, chase(1e6))], 9e7)
    plan = place(profile=workload, near=NEAR, far=PMEM, budget="50%", allow=["parts"])
    (row,) = plan.placements
    assert {part.memory: part.share for part in row.parts} == {"near": 0.5, "far": 0.5}
    near, far, mixed = (bar(plan, name).time_ns.value for name in ("all-near", "all-far", "plan"))
    assert mixed == pytest.approx((near + far) / 2, rel=1e-3)
    hint = place(profile=workload, near=NEAR, far=PMEM, budget="50%", allow=["whole"])
    assert any("--allow parts" in caveat for caveat in hint.caveats)
    assert hint.placements[0].memory == "far"
    # That is what a plan does by itself where it pays.
    alone = place(profile=workload, near=NEAR, far=PMEM, budget="50%")
    assert alone.placements[0].parts == row.parts
    with pytest.raises(CommandError, match="give it alone"):
        place(profile=workload, near=NEAR, far=PMEM, budget="50%", allow=["whole", "parts"])


@pytest.mark.parametrize("allow", [[], ["parts"]])
def test_an_object_that_fits_only_in_parts_is_refused_whole_and_placed_in_parts(
    tmp_path: Path, allow: list[Allowed]
):
    workload = two([(60 * MIB, chase(1e6)), (60 * MIB, chase(1e6))], 1.8e8)
    fars = samples.memories(tmp_path, (CXL, 50 * MIB), (PMEM, 50 * MIB))
    with pytest.raises(NearfarError, match="--allow parts"):
        place(
            profile=workload, near=NEAR, memories=fars, budget="40MiB", allow=["whole"],
            details=False,
        )  # fmt: skip
    plan = place(
        profile=workload, near=NEAR, memories=fars, budget="40MiB", allow=allow, details=False
    )
    for memory in plan.memories:
        assert memory.capacity_bytes is not None
        assert memory.used_bytes <= memory.capacity_bytes
    assert any("exceed" in caveat for caveat in plan.caveats)


def test_a_phase_without_time_is_placed(tmp_path: Path):
    workload = samples.workload()
    for phase in workload.phases:
        phase.near_cpu_time_ns = type(phase.near_cpu_time_ns)(0.0, 0.0, 0.0)
    plan = place(
        profile=workload,
        near=NEAR,
        memories=samples.memories(tmp_path, (CXL, MIB), (PMEM, None)),
        budget="25%",
        allow=["parts"],
    )
    assert bar(plan, "optimal").slowdown.value == 1.0


def test_a_stream_is_interleaved_where_bandwidth_limits_it():
    stream = Traffic(accesses=1e8, read_misses=AccessClasses(stream=1e8))
    workload = two([(64 * MIB, stream)], 8 * 1e8 * 64 / 12, threads=8)
    far = samples.device("far", 120.0, 11.0, 9.0)
    plan = place(profile=workload, near=NEAR, far=far, budget="100%", allow=["interleave"])
    (row,) = plan.placements
    assert set(row.interleave) == {"near", "far"}
    assert bar(plan, "plan").time_ns.value < 0.9 * bar(plan, "all-near").time_ns.value
    chasing = two([(64 * MIB, chase(1e6))], 9e7)
    assert (
        place(profile=chasing, near=NEAR, far=far, budget="100%", allow=["interleave"])
        .placements[0]
        .interleave
        == {}
    )


def phased(alive_bytes: int, rounds: int) -> WorkloadProfile:
    """Return two alternating phases, each with its own object that only fits near alone."""
    workload = samples.workload(objects=2, phases=("one", "two"))
    for item in workload.objects:
        item.size_bytes = 64 * MIB
    for at, phase in enumerate(workload.phases):
        for number, row in enumerate(phase.objects):
            row.traffic = chase(1e7 if number == at else 0.0)
        phase.near_cpu_time_ns = type(phase.near_cpu_time_ns)(9e8, 9e8, 9e8)
    alive = {"0": alive_bytes, "1": alive_bytes}
    live = [
        LiveSample(time_ns=turn, phase="one" if turn % 2 == 0 else "two", bytes_by_object=alive)
        for turn in range(2 * rounds)
    ]
    return msgspec.structs.replace(workload, live=live)


def test_objects_move_between_phases_only_where_that_pays():
    budget = "64MiB"
    plan = place(
        profile=phased(64 * MIB, 2),
        near=NEAR,
        far=PMEM,
        budget=budget,
        allow=["moves"],
        move_gb_per_s=2.0,
    )
    assert [(phase.phase, phase.entries) for phase in plan.phases] == [("one", 1), ("two", 2)]
    for phase in plan.phases:
        assert {(move.object, move.memory) for move in phase.moves} == (
            {(0, "near"), (1, "far")} if phase.phase == "one" else {(0, "far"), (1, "near")}
        )
        for move in phase.moves:
            assert move.bytes == 64 * MIB
            assert move.cost_ns == pytest.approx(64 * MIB / 2.0)
    assert [row.memory for row in plan.placements] == ["near", "far"]
    moved, still = bar(plan, "per-phase"), bar(plan, "optimal")
    copies = sum(p.entries * sum(m.cost_ns for m in p.moves) for p in plan.phases)
    assert moved.time_ns.value == pytest.approx(
        bar(plan, "all-near").time_ns.value + copies, rel=0.01
    )
    assert moved.time_ns.value < still.time_ns.value
    slow = place(
        profile=phased(64 * MIB, 2),
        near=NEAR,
        far=PMEM,
        budget=budget,
        allow=["moves"],
        move_gb_per_s=0.01,
    )
    assert slow.phases == []
    assert any("does not pay" in caveat for caveat in slow.caveats)


def test_a_price_is_a_budget():
    workload = samples.workload()
    plan = place(profile=workload, near=NEAR, far=PMEM, budget="price:40%")
    # 5 n + (1 - n) = 0.4 x 5
    assert plan.budget_bytes == pytest.approx(0.25 * plan.footprint_bytes, abs=1)
    several = place(
        profile=workload,
        near=NEAR,
        far=[CXL, PMEM],
        far_price=[2.0, 1.0],
        budget="price:30%",
        details=False,
    )
    assert bar(several, "optimal").cost_relative <= 0.3 + 1e-9
    assert bar(several, "greedy").cost_relative <= 0.3 + 1e-9


def test_several_inputs_are_placed_together(tmp_path: Path):
    """Each input needs another object and one fits: worst and mean give different plans.

    For the worst, half of each near is better than one whole.
    """
    first, second = (samples.workload(objects=2, phases=("run",)) for _ in range(2))
    for workload, misses in ((first, (4e6, 0.0)), (second, (0.0, 3e6))):
        for item in workload.objects:
            item.size_bytes = 64 * MIB
        for row, count in zip(workload.phases[0].objects, misses, strict=True):
            row.traffic = chase(count)
        phase = workload.phases[0]
        phase.near_cpu_time_ns = type(phase.near_cpu_time_ns)(9e8, 9e8, 9e8)
    third = msgspec.convert(msgspec.to_builtins(second), WorkloadProfile)
    paths = [tmp_path / name for name in ("a.json", "b.json", "c.json")]
    for path, workload in zip(paths, (first, second, third), strict=True):
        save(workload, path)
    mean = place(profile=paths, near=NEAR, far=PMEM, budget="50%")
    assert [row.memory for row in mean.placements] == ["far", "near"]
    halves = place(profile=paths, near=NEAR, far=PMEM, budget="50%", over="worst")
    assert bar(halves, "plan").slowdown.value < bar(halves, "optimal").slowdown.value
    worst = place(profile=paths, near=NEAR, far=PMEM, budget="50%", over="worst", allow=["whole"])
    assert [row.memory for row in worst.placements] == ["near", "far"]
    assert bar(worst, "optimal").slowdown.value < max(
        bar(mean, "all-far").slowdown.value, 1.0 + 4e6 * 210 / 9e8
    )
    assert worst.profiles == [str(path) for path in paths]


def test_objects_whose_placement_depends_on_the_interval_are_named():
    """A gather next to a chase of similar benefit per byte: the doubt about overlap decides."""
    gather = Traffic(accesses=1e7, read_misses=AccessClasses(indirect=1e7))
    close = two([(64 * MIB, chase(1.1e6)), (64 * MIB, gather)], 1.1e6 * 90 + 1e7 * 9)
    plan = place(profile=close, near=NEAR, far=PMEM, budget="50%")
    assert {(row.object, row.at_low, row.at_high) for row in plan.undecided} == {
        (0, "far", "near"),
        (1, "far", "near"),
    }
    sure = two([(64 * MIB, chase(1e6)), (64 * MIB, chase(1.0))], 9e7)
    assert place(profile=sure, near=NEAR, far=PMEM, budget="50%").undecided == []
    # An object that does not fit near is far at any cost.
    assert place(profile=close, near=NEAR, far=PMEM, budget="25%").undecided == []


def test_memory_mode_is_shown_where_the_profile_has_miss_curves():
    workload = samples.workload(phases=("run",))
    workload.curve_bytes = [float(2**power) for power in range(15, 41)]
    footprint = sum(item.size_bytes for item in workload.objects)
    for row in workload.phases[0].objects:
        # With a cache that holds everything, all misses of the simulated cache hit.
        misses = [row.traffic.misses() * float(size < footprint) for size in workload.curve_bytes]
        row.curve = MissCurve(read=misses, write=[0.0] * len(misses))
    small, large = (
        bar(
            place(profile=workload, near=NEAR, far=PMEM, budget=share, details=False), "memory-mode"
        )
        for share in ("1%", "100%")
    )
    assert small.near_bytes == int(0.01 * footprint)
    assert large.slowdown.value < small.slowdown.value
    # All data is in far memory too: each byte costs far memory, and the cache is additional.
    assert large.cost_relative == pytest.approx(1.0 + 1 / 5)
    without = place(profile=samples.workload(), near=NEAR, far=PMEM, budget="1%", details=False)
    assert any("Memory Mode is not shown" in caveat for caveat in without.caveats)

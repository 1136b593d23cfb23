"""The plan that options ask for."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nearfar.base.collection import collection_paused
from nearfar.base.errors import CommandError, NearfarError
from nearfar.base.estimate import scale_estimate
from nearfar.devices.cores import load_core
from nearfar.devices.library import load_device
from nearfar.documents import (
    DeviceProfile,
    MachineProfile,
    Plan,
    WorkloadProfile,
    loaded,
    origin,
    producer,
)
from nearfar.documents.plan import Alternative, SlowdownGoal
from nearfar.options.place import PlaceOptions
from nearfar.place.budget import budget_remark, with_budget, with_limits
from nearfar.place.caveats import memory_caveats, move_caveats, plan_caveats
from nearfar.place.evaluation import Evaluation, evaluate
from nearfar.place.exports import is_plan, mapped
from nearfar.place.goal import check_goal, least_budget
from nearfar.place.inputs import joined_inputs
from nearfar.place.machine_file import (
    FarMemory,
    MachineFile,
    far_memories,
    load_machine_file,
    prices_of,
)
from nearfar.place.moves import MovingPlan, copy_ns_per_byte, moving_plan
from nearfar.place.optimiser import OPTIMISERS
from nearfar.place.paged import paged_plan
from nearfar.place.plan_rows import (
    bar,
    frontier_points,
    memories_of,
    memory_mode_bar,
    optimiser_bars,
    placements_of,
)
from nearfar.place.problem import Problem, problem_of
from nearfar.place.proof import proven_gap
from nearfar.place.task import EXTENSIONS, MIN_SHOWN_SHARE, ExtendedShares, PlaceTask
from nearfar.place.uncertainty import undecided_objects
from nearfar.predict.derive import near_on_machine
from nearfar.predict.device_figures import parse_page_bytes
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.noise import measurement_noise
from nearfar.predict.traffic import Array, PhaseTraffic


class PlanSaving(NamedTuple):
    """A plan, the profile that it is for, and the time that it saves."""

    plan: Plan
    workload: WorkloadProfile | None
    """The profile with the plan's object numbers, the sum of all inputs; None: far memory is
    paged."""
    saved_ns: float
    """Predicted time of all-far minus that of the plan, mean over inputs."""


class _PlanRequest(NamedTuple):
    """Objects to place, and the memories to choose from; near memory's size is not included."""

    fars: list[FarMemory]
    near_spec: str
    problem: Problem
    workload: WorkloadProfile
    """The joined profile."""
    machine: MachineProfile | None
    """The machine whose joint limits apply, if it is known."""

    def of_phase(self, name: str) -> _PlanRequest:
        """Return the same request for one phase."""
        return self._replace(problem=self.problem.of_phase(name))


class _Inputs(NamedTuple):
    """Profile and near memory that options name."""

    workload: WorkloadProfile
    phases: list[PhaseTraffic]
    numbers: tuple[int, ...]
    """Each phase's input."""
    near: MemoryCosts
    machine: MachineProfile | None


def place(options: PlaceOptions) -> Plan:
    """Choose each object's memory, as `placed` does, and return the plan alone."""
    return placed(options).plan


@collection_paused()
def placed(options: PlaceOptions) -> PlanSaving:
    """Choose each object's memory so that the phase takes least time within the budget or goal.

    Raises NearfarError for memories that cannot hold the program or lack figures that the model
    needs.
    """
    _refuse_plan(options)
    file = MachineFile() if options.memories is None else load_machine_file(options.memories)
    fars, near = far_memories(options, file), options.near or file.near
    if near is None:
        raise CommandError(
            "there is no near memory: name what the program was profiled in with --near, a file of "
            "`nearfar measure` or a library device"
        )
    budget = options.budget
    if budget is None and options.slo is None:
        budget = file.near_capacity
    allow = frozenset(EXTENSIONS if "all" in options.allow else options.allow)
    _check_options(options, budget, allow)
    if any(far.device.technology == "paged" for far in fars):
        prices = prices_of(options, file)
        return PlanSaving(
            paged_plan(options, budget, fars, load_device(near).name, prices), None, 0.0
        )
    inputs = _inputs(options, file, load_device(near))
    return _place_request(options, _request(options, file, inputs, fars), budget, allow)


def place_phases(
    options: PlaceOptions, budgets: Sequence[str], phases: Sequence[str]
) -> Iterator[tuple[Problem, list[Plan]]]:
    """Yield the problem of each far memory and phase, and its plan for each budget.

    Plans have whole objects, or parts where these pay. Common work is done once.
    """
    assert options.near is not None
    inputs = _inputs(options, MachineFile(), load_device(options.near))
    for far in far_memories(options, MachineFile()):
        request = _request(options, MachineFile(), inputs, [far])
        for name in phases:
            of_phase, named = request.of_phase(name), replace(options, phase=name)
            plans = [
                _place_request(named, of_phase, budget, frozenset()).plan for budget in budgets
            ]
            yield of_phase.problem, plans


def _place_request(
    options: PlaceOptions, request: _PlanRequest, budget: str | None, allow: frozenset[str]
) -> PlanSaving:
    """Choose each object's memory within the budget, or for the options' goal."""
    workload, machine = request.workload, request.machine
    problem, budget_bytes = with_budget(request.problem, budget)
    task = PlaceTask(problem, workload, options.optimiser, allow)
    goal = None
    if options.slo is not None:
        budget_bytes, reached = least_budget(
            problem, options.slo, options.slo_by, task.quick_shares, task.timed_shares
        )
        goal = SlowdownGoal(most_slowdown=options.slo, judged_by=options.slo_by, reached=reached)
    if not allow:
        task = task.with_parts_that_pay(budget_bytes)
    can_move = len(options.profile) == 1 and ("moves" in allow or options.details)
    copies = copy_ns_per_byte(problem, machine, options.move_gb_per_s) if can_move else None
    result = _choose(
        task, budget_bytes, copies, details=options.details, joint_limits=machine is not None
    )
    result.goal = goal
    plan = _document(task, result, request, options)
    return PlanSaving(
        mapped(plan, list(options.map)), workload, result.saved_ns(problem) / len(options.profile)
    )


def _refuse_plan(options: PlaceOptions) -> None:
    first = options.profile[0]
    if len(options.profile) == 1 and isinstance(first, Path) and is_plan(first):
        raise CommandError(
            f"{first} is already a plan: name a profile, or print the plan with --export"
        )


def _check_options(options: PlaceOptions, budget: str | None, allow: Collection[str]) -> None:
    """Refuse options that no plan can satisfy."""
    goal, move_gb_per_s = options.slo, options.move_gb_per_s
    if goal is not None:
        check_goal(goal)
    if (goal is None) == (budget is None):
        raise NearfarError(
            "give either the near memory (--budget) or the largest slowdown (--slo), one of the two"
        )
    if move_gb_per_s is not None and not (math.isfinite(move_gb_per_s) and move_gb_per_s > 0):
        raise NearfarError(f"data cannot move at {move_gb_per_s:g} GB/s: give a rate above 0")
    if OPTIMISERS.get(options.optimiser).only_bar:
        raise NearfarError(
            f"{options.optimiser} is only a bar to compare with, not a way to place whole "
            "objects: choose exact, greedy or hot-first"
        )
    if len(options.profile) > 1 and "moves" in allow:
        raise NearfarError(
            "--allow moves needs a single profile: several inputs do not share the order of phases"
        )


def _inputs(options: PlaceOptions, file: MachineFile, near: DeviceProfile) -> _Inputs:
    machine = options.machine or file.machine
    profiles = [loaded(profile, WorkloadProfile) for profile in options.profile]
    paths = [origin(profile) for profile in options.profile]
    joined = joined_inputs(profiles, paths, options.phase)
    near_side, known_machine = near_on_machine(
        near,
        None if machine is None else loaded(machine, MachineProfile),
        None if options.pages is None else parse_page_bytes(options.pages),
        None if options.core is None else load_core(options.core),
    )
    return _Inputs(*joined, near_side, known_machine)


def _request(
    options: PlaceOptions, file: MachineFile, inputs: _Inputs, fars: list[FarMemory]
) -> _PlanRequest:
    problem = problem_of(
        inputs.workload,
        inputs.phases,
        inputs.near,
        [memory.device for memory in fars],
        model=options.model,
        prices=prices_of(options, file),
        host=options.host,
        machine=inputs.machine,
    )
    problem = with_limits(problem, fars, inputs=inputs.numbers, over=options.over)
    return _PlanRequest(fars, file.near_spec, problem, inputs.workload, inputs.machine)


@dataclass(eq=False)
class _Result:
    """A placement, the bars to compare it with, and sentences about it."""

    budget_bytes: int
    extended: ExtendedShares
    bars: list[Alternative]
    proven_gap: float | None
    moves: MovingPlan | None
    details: bool
    caveats: list[str]
    goal: SlowdownGoal | None = None

    def saved_ns(self, problem: Problem) -> float:
        """Return the time of all-far minus that of the placement, moves included."""
        own_ns = self.extended.time_ns(problem) if self.moves is None else self.moves.time_ns
        far = problem.in_first_far(np.zeros(len(problem.names)))
        return float(problem.shared_times_ns(far)) - own_ns


def _choose(
    task: PlaceTask,
    budget_bytes: int,
    copies: Array | None,
    *,
    details: bool,
    joint_limits: bool,
) -> _Result:
    """Return the best placement within the budget, with the bars and caveats of its plan.

    `copies` has the time to copy a byte between memories, ns, shape (from, to); None: data does not
    move between phases.
    """
    problem, allow = task.problem, task.allow
    choices = task.bars(budget_bytes)
    choice = task.best_whole(budget_bytes)
    extended = task.best_extended(budget_bytes)
    bars = optimiser_bars(problem, choices)
    differs = extended.ranges is not None or not np.array_equal(extended.shares, choice.shares)
    if allow and differs:
        evaluation = _evaluation(problem, extended)
        bars.append(bar(problem, "plan", evaluation))
    cache_bar, no_cache = memory_mode_bar(problem, budget_bytes)
    bars += [cache_bar] if cache_bar is not None else []
    moves, caveats = None, []
    if copies is not None:
        moves = moving_plan(problem, task.workload, budget_bytes, extended.shares, copies)
    if moves is not None:
        bars.append(bar(problem, "per-phase", _moving_evaluation(problem, extended, moves)))
        if "moves" in allow:
            extended = replace(extended, shares=moves.shares[moves.first], ranges=None)
            caveats += move_caveats(task.workload, problem, moves)
        else:
            saved = 1 - moves.time_ns / extended.time_ns(problem)
            if saved >= MIN_SHOWN_SHARE:
                caveats.append(
                    f"moving data when phases change is predicted {saved:.1%} faster, copies "
                    "included: --allow moves"
                )
            moves = None
    elif "moves" in allow:
        caveats.append("moving data between phases does not pay here: the plan is static")
    caveats += task.sentences
    if not task.fits(extended.shares, budget_bytes):
        raise NearfarError(
            "no placement fits these capacities, parts of objects included: raise one of them"
        )
    if not task.fits(choice.shares, budget_bytes):
        caveats.append(
            "no placement of whole objects fits these capacities: the plan's bars of whole objects "
            "exceed one"
        )
    caveats += plan_caveats(
        problem, budget_bytes, extended, choices, allow=allow, joint_limits=joint_limits
    )
    caveats += [*(task.hints(budget_bytes) if details else []), *no_cache]
    # The bound does not apply to plans that move data between phases.
    timed, rows = extended.timed(problem)
    gap = None if moves is not None else proven_gap(timed, budget_bytes, rows)
    return _Result(budget_bytes, extended, bars, gap, moves, details, caveats)


def _evaluation(problem: Problem, extended: ExtendedShares) -> Evaluation:
    return evaluate(problem, extended.shares[np.newaxis], [extended.time_ns(problem)])[0]


def _moving_evaluation(problem: Problem, extended: ExtendedShares, moves: MovingPlan) -> Evaluation:
    """Return the moving plan's evaluation: its time, with the static plan's relative interval."""
    static = _evaluation(problem, extended)
    factor = moves.time_ns / static.time_ns.value if static.time_ns.value > 0 else 1.0
    first = evaluate(problem, moves.shares[moves.first][np.newaxis])[0]
    return replace(
        first,
        time_ns=scale_estimate(static.time_ns, factor),
        slowdown=scale_estimate(static.slowdown, factor),
    )


def _document(
    task: PlaceTask, result: _Result, request: _PlanRequest, options: PlaceOptions
) -> Plan:
    """Return the plan as a document."""
    paths = [origin(profile) for profile in options.profile]
    problem, budget_bytes, shares = task.problem, result.budget_bytes, result.extended.shares
    remark = budget_remark(budget_bytes, problem.footprint_bytes)
    if not problem.names:
        remark = "the profile has no objects: there is nothing to place"
    undecided = []
    if result.details:
        undecided = undecided_objects(problem, budget_bytes, shares.argmax(axis=1))
    return Plan(
        producer=producer(),
        profile=paths[0],
        near=problem.near.device.name,
        far=request.fars[0].device.name,
        phase=options.phase,
        budget_bytes=budget_bytes,
        footprint_bytes=problem.footprint_bytes,
        placements=placements_of(task.workload, problem, result.extended),
        alternatives=result.bars,
        frontier=frontier_points(problem),
        prices=problem.prices,
        proven_gap=result.proven_gap,
        memories=memories_of(problem, shares, budget_bytes, request.fars, request.near_spec),
        phases=result.moves.phases if result.moves is not None else [],
        undecided=undecided,
        goal=result.goal,
        profiles=paths if len(paths) > 1 else [],
        over_profiles=options.over if len(paths) > 1 else "",
        noise=measurement_noise(
            task.workload,
            problem.phases,
            problem.near.device,
            [memory.device for memory in problem.fars],
            problem.far_outcomes,
        ),
        caveats=[
            *([remark] if remark else []),
            *result.caveats,
            *memory_caveats(problem, task.workload),
        ],
    )

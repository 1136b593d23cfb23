"""Placing from Python: documents in, a `Plan` out."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from nearfar.base.errors import NearfarError, nearest
from nearfar.base.estimate import scale_estimate
from nearfar.documents import DeviceProfile, MachineProfile, Plan, WorkloadProfile, producer
from nearfar.documents.core import CoreFigures
from nearfar.documents.plan import Alternative, Prices, SlowdownGoal
from nearfar.documents.prediction import HostRule
from nearfar.place.budget import budget_remark, with_budget, with_limits
from nearfar.place.caveats import memory_caveats, move_caveats, plan_caveats
from nearfar.place.evaluation import Evaluation, evaluate
from nearfar.place.goal import Judge, check_goal, least_budget
from nearfar.place.inputs import joined_inputs
from nearfar.place.machine_file import FarMemory
from nearfar.place.moves import MovingPlan, copy_ns_per_byte, moving_plan
from nearfar.place.optimiser import OPTIMISERS
from nearfar.place.plan_rows import (
    BARS,
    bar,
    frontier_points,
    memories_of,
    memory_mode_bar,
    optimiser_bars,
    placements_of,
)
from nearfar.place.problem import Over, Problem, problem_of
from nearfar.place.task import Allowed, ExtendedShares, PlaceTask
from nearfar.place.uncertainty import undecided_objects
from nearfar.predict.derive import near_on_machine
from nearfar.predict.host import DEFAULT_HOST
from nearfar.predict.model import DEFAULT_MODEL
from nearfar.predict.noise import measurement_noise
from nearfar.predict.total import TOTAL
from nearfar.predict.traffic import Array

DEFAULT_OPTIMISER = "exact"


def place(
    workload: WorkloadProfile | Sequence[WorkloadProfile],
    near: DeviceProfile,
    far: DeviceProfile | Sequence[FarMemory],
    budget: int | str | None = None,
    phase: str = TOTAL,
    *,
    prices: Prices | None = None,
    optimiser: str = DEFAULT_OPTIMISER,
    model: str = DEFAULT_MODEL,
    page_bytes: int | None = None,
    host: HostRule = DEFAULT_HOST,
    profile_path: str | Sequence[str] = "",
    machine: MachineProfile | None = None,
    core: CoreFigures | None = None,
    near_spec: str = "",
    allow: Collection[Allowed] = (),
    goal: float | None = None,
    judge: Judge = "value",
    over: Over = "mean",
    move_gb_per_s: float | None = None,
    details: bool = True,
) -> Plan:
    """Choose where objects go so that `phase` takes least time within the budget.

    `budget` is bytes, or text such as ``2GiB``, ``25%`` or ``price:40%``. `goal`, the largest
    slowdown, replaces it: the plan has the least near memory that meets it by its `judge`. Several
    profiles are placed for the mean or the worst (`over`) of their slowdowns. `machine` has joint
    limits of memories and a core, which `core` replaces; `host` adapts latencies, as in
    `predict`. `details` adds undecided objects and hints. Raises NearfarError for invalid
    options and for memories that cannot hold the program or lack what the model needs.
    """
    _check_options(allow, over, goal=goal, budget=budget, move_gb_per_s=move_gb_per_s)
    _check_optimiser(optimiser)
    profiles = [workload] if isinstance(workload, WorkloadProfile) else list(workload)
    fars = [FarMemory(far)] if isinstance(far, DeviceProfile) else list(far)
    _check_counts(profiles, fars, allow)
    paths = [profile_path] if isinstance(profile_path, str) else list(profile_path)
    merged, phases, inputs = joined_inputs(profiles, paths, phase)
    near_side, machine = near_on_machine(near, machine, page_bytes, core)
    devices = [memory.device for memory in fars]
    problem = problem_of(
        merged, phases, near_side, devices, model=model, prices=prices, host=host, machine=machine
    )
    problem, budget_bytes = with_budget(
        with_limits(problem, fars, inputs=inputs, over=over), budget
    )
    task = PlaceTask(problem, merged, optimiser, frozenset(allow))
    reached = None
    if goal is not None:
        budget_bytes, met = least_budget(problem, goal, judge, task.choose_greedy, task.choose)
        reached = SlowdownGoal(most_slowdown=goal, judged_by=judge, reached=met)
    can_move = len(profiles) == 1 and ("moves" in allow or details)
    copies = copy_ns_per_byte(problem, machine, move_gb_per_s) if can_move else None
    result = _solve(task, budget_bytes, copies, details=details, joint_limits=machine is not None)
    return _document(
        task, result, fars, paths=paths, near=(near.name, near_spec), phase=phase, goal=reached,
        over=over,
    )  # fmt: skip


def _check_options(
    allow: Collection[str],
    over: str,
    *,
    goal: float | None,
    budget: int | str | None,
    move_gb_per_s: float | None,
) -> None:
    known = list(get_args(Allowed))
    for extension in allow:
        if extension not in known:
            hint = nearest(extension, known) or f"; there are: {', '.join(known)}"
            raise NearfarError(f"a plan cannot be allowed {extension!r}{hint}")
    if over not in get_args(Over):
        raise NearfarError(f"slowdowns of several profiles count by mean or worst, not {over!r}")
    if goal is not None:
        check_goal(goal)
    if (goal is None) == (budget is None):
        raise NearfarError(
            "give either the near memory (--budget) or the largest slowdown (--slo), one of the two"
        )
    if move_gb_per_s is not None and not (math.isfinite(move_gb_per_s) and move_gb_per_s > 0):
        raise NearfarError(f"data cannot move at {move_gb_per_s:g} GB/s: give a rate above 0")


def _check_optimiser(optimiser: str) -> None:
    if OPTIMISERS.get(optimiser).only_bar:
        raise NearfarError(
            f"{optimiser} is only a bar to compare with, no plan of whole objects: "
            "choose exact, greedy or hot-first"
        )


def _check_counts(
    profiles: Sequence[WorkloadProfile], fars: Sequence[FarMemory], allow: Collection[str]
) -> None:
    if len(profiles) > 1 and "moves" in allow:
        raise NearfarError(
            "--allow moves needs a single profile: several inputs do not share the order of phases"
        )
    if not fars:
        raise NearfarError("there is no far memory: name one with --far")


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


def _solve(
    task: PlaceTask,
    budget_bytes: int,
    copies: Array | None,
    *,
    details: bool,
    joint_limits: bool,
) -> _Result:
    """Place within the budget; `copies` has the ns per byte of moves, None: without moves."""
    problem, allow = task.problem, task.allow
    choices = {name: task.choose_whole(budget_bytes, name) for name in BARS}
    choice = choices.get(task.optimiser) or task.choose_whole(budget_bytes, task.optimiser)
    extended = task.extended(budget_bytes, choice.shares, allow)
    bars = optimiser_bars(problem, choices)
    if allow and not np.array_equal(extended.shares, choice.shares):
        evaluation = evaluate(problem, extended.shares[np.newaxis])[0]
        bars.append(bar(problem, "plan", evaluation))
    cache_bar, no_cache = memory_mode_bar(problem, budget_bytes)
    bars += [cache_bar] if cache_bar is not None else []
    moves, caveats = None, []
    if copies is not None:
        moves = moving_plan(problem, task.workload, budget_bytes, extended.shares, copies)
    if moves is not None:
        bars.append(bar(problem, "per-phase", _moving_evaluation(problem, extended, moves)))
        if "moves" in allow:
            extended = replace(extended, shares=moves.shares[moves.first])
            caveats += move_caveats(task.workload, problem, moves)
        else:
            saved = 1 - moves.time_ns / float(problem.shared_times_ns(extended.shares))
            caveats.append(
                f"moving data when phases change is predicted {saved:.1%} faster, copies included: "
                "--allow moves"
            )
            moves = None
    elif "moves" in allow:
        caveats.append("moving data between phases does not pay here: the plan is static")
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
        problem, budget_bytes, extended.shares, choices, allow=allow, joint_limits=joint_limits
    )
    caveats += [*(task.hints(budget_bytes, choice.shares) if details else []), *no_cache]
    gap = choices["exact"].proven_gap
    return _Result(budget_bytes, extended, bars, gap, moves, details, caveats)


def _moving_evaluation(problem: Problem, extended: ExtendedShares, moves: MovingPlan) -> Evaluation:
    """Return the moving plan's evaluation: the static plan's interval scaled to its time."""
    static = evaluate(problem, extended.shares[np.newaxis])[0]
    factor = moves.time_ns / static.time_ns.value if static.time_ns.value > 0 else 1.0
    first = evaluate(problem, moves.shares[moves.first][np.newaxis])[0]
    return replace(
        first,
        time_ns=scale_estimate(static.time_ns, factor),
        slowdown=scale_estimate(static.slowdown, factor),
    )


def _document(
    task: PlaceTask,
    result: _Result,
    fars: Sequence[FarMemory],
    *,
    paths: list[str],
    near: tuple[str, str],
    phase: str,
    goal: SlowdownGoal | None,
    over: Over,
) -> Plan:
    """Return the plan; `near` is near memory's device and spec."""
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
        near=near[0],
        far=fars[0].device.name,
        phase=phase,
        budget_bytes=budget_bytes,
        footprint_bytes=problem.footprint_bytes,
        placements=placements_of(task.workload, problem, shares, result.extended.weights),
        alternatives=result.bars,
        frontier=frontier_points(problem),
        prices=problem.prices,
        proven_gap=result.proven_gap,
        memories=memories_of(problem, shares, budget_bytes, fars, near[1]),
        phases=result.moves.phases if result.moves is not None else [],
        undecided=undecided,
        goal=goal,
        profiles=paths if len(paths) > 1 else [],
        over_profiles=over if len(paths) > 1 else "",
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

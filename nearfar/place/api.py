"""Placing from Python: documents in, a `Plan` out."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nearfar.base.errors import NearfarError, nearest
from nearfar.base.units import format_bytes
from nearfar.documents import DeviceProfile, MachineProfile, Plan, WorkloadProfile, producer
from nearfar.documents.plan import Prices, SlowdownGoal
from nearfar.documents.prediction import HostRule
from nearfar.place.bars import BARS, bar, bars, memory_mode
from nearfar.place.budget import budget_remark
from nearfar.place.copying import copy_ns_per_byte
from nearfar.place.describe import memories_of, of_plan, placements_of
from nearfar.place.evaluate import Evaluation, evaluate
from nearfar.place.frontier import frontier, frontier_points
from nearfar.place.goal import Judge, check_goal, least_budget
from nearfar.place.inputs import joined
from nearfar.place.interleaved import interleaved
from nearfar.place.limits import with_budget, with_limits
from nearfar.place.machine_file import FarMemory
from nearfar.place.moves import Moving, changes_of, moving
from nearfar.place.optimiser import OPTIMISERS, Choice
from nearfar.place.parts import splittable, with_parts
from nearfar.place.problem import Over, Problem, problem_of
from nearfar.place.rooms import rooms_of
from nearfar.place.search import best_of
from nearfar.place.undecided import undecided
from nearfar.predict.api import scale_estimate
from nearfar.predict.caveats import caveats, common_caveats
from nearfar.predict.derive import near_memory
from nearfar.predict.host import DEFAULT_HOST
from nearfar.predict.model import DEFAULT_MODEL
from nearfar.predict.total import TOTAL
from nearfar.predict.traffic import Array

DEFAULT_OPTIMISER = "exact"

Allowed = Literal["parts", "interleave", "moves"]
"""What a plan may do beside putting whole objects somewhere for good."""


FEW_OBJECTS = 1000
"""Up to here a search for a goal tries everything that is allowed at every step."""

WORTH_SAYING = 0.02
"""Of the time, what something that is not allowed must save to be worth a sentence."""


@dataclass(frozen=True, eq=False)
class Placed:
    """A choice, and what was done to it that whole objects in one place do not show."""

    shares: Array
    dealt: dict[int, tuple[int, ...]]
    """Objects whose pages are dealt out, with weights by memory."""


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
    near_spec: str = "",
    allow: Collection[Allowed] = (),
    goal: float | None = None,
    judge: Judge = "value",
    over: Over = "mean",
    move_gb_per_s: float | None = None,
    details: bool = True,
) -> Plan:
    """Choose where objects go so that `phase` takes least time within the budget.

    `budget` is bytes, or text such as ``2GiB``, ``25%`` (of the program's memory) or
    ``price:40%`` (of what all near would cost); or `goal`, the most slowdown, asks for the least
    near memory that keeps it, by the predicted value or the interval's `high` end. Several
    profiles of one program are placed for at once, for the `over` of their slowdowns. `machine`
    says which memories hold each other back. `host` says how a latency published on another
    machine is taken to this one, as in `predict`. `details`: also look for what the interval
    changes and for what is not allowed but would pay.
    Raises NearfarError for a budget that is negative or has no unit, an unknown phase, model or
    optimiser, memories that do not hold the program, profiles of different programs, and a device
    without the figures that the model needs.
    """
    _check(allow, over, goal=goal, budget=budget, move_gb_per_s=move_gb_per_s)
    chosen_by = OPTIMISERS.get(optimiser)()
    if chosen_by.only_bar:
        raise NearfarError(
            f"{optimiser} is only a bar to compare with, no plan of whole objects: "
            "choose exact, greedy or hot-first"
        )
    profiles = [workload] if isinstance(workload, WorkloadProfile) else list(workload)
    paths = [profile_path] if isinstance(profile_path, str) else list(profile_path)
    if len(profiles) > 1 and "moves" in allow:
        raise NearfarError(
            "--allow moves goes with one profile: several inputs do not share the order of phases"
        )
    fars = [FarMemory(far)] if isinstance(far, DeviceProfile) else list(far)
    if not fars:
        raise NearfarError("there is no far memory: name one with --far")
    whole, phases, inputs = joined(profiles, paths, phase)
    problem = with_limits(
        problem_of(
            whole,
            phases,
            near_memory(near, page_bytes),
            [one.device for one in fars],
            model=model,
            prices=prices,
            host=host,
            machine=machine,
        ),
        fars,
        inputs=inputs,
        over=over,
    )
    problem, budget_bytes = with_budget(problem, budget)
    can_split = splittable(whole)

    def choose(bytes_: int) -> Choice:
        choice = _chosen(problem, bytes_, optimiser, allow)
        placed = _allowed(problem, bytes_, choice.shares, can_split, allow)
        return Choice(placed.shares, choice.proven_gap)

    def quick(bytes_: int) -> Choice:
        shares = OPTIMISERS.get("greedy")().choose(problem, bytes_).shares
        # Dealing out is timed in some eighty ways: too slow to be asked of many objects often.
        ways = [way for way in allow if way == "parts" or len(problem.names) <= FEW_OBJECTS]
        return Choice(_allowed(problem, bytes_, shares, can_split, ways).shares)

    reached = None
    if goal is not None:
        budget_bytes, kept = least_budget(problem, goal, judge, quick, choose)
        reached = SlowdownGoal(most_slowdown=goal, judged_by=judge, reached=kept)
    choices = {name: _chosen(problem, budget_bytes, name, allow) for name in BARS}
    choice = choices.get(optimiser) or chosen_by.choose(problem, budget_bytes)
    placed = _allowed(problem, budget_bytes, choice.shares, can_split, allow)
    alternatives = bars(problem, choices)
    if allow and not np.array_equal(placed.shares, choice.shares):
        found = evaluate(problem, placed.shares[np.newaxis])[0]
        alternatives.append(bar(problem, "plan", found))
    cached, not_cached = memory_mode(problem, budget_bytes)
    alternatives += [cached] if cached is not None else []
    said: list[str] = []
    moves = None
    if len(profiles) == 1 and ("moves" in allow or details):
        copies = copy_ns_per_byte(problem, machine, move_gb_per_s)
        moves = moving(problem, whole, budget_bytes, placed.shares, copies)
    if moves is not None:
        per_phase = _per_phase_bar(problem, placed, moves)
        alternatives.append(bar(problem, "per-phase", per_phase))
        if "moves" in allow:
            placed = replace(placed, shares=moves.shares[moves.first])
            said += _said_of_moves(whole, problem, moves)
        else:
            said.append(
                "moving data when phases change is predicted "
                f"{1 - moves.time_ns / float(problem.shared_times_ns(placed.shares)):.1%} faster, "
                "copies included: --allow moves"
            )
    elif "moves" in allow:
        said.append("moving data between phases does not pay here: the plan is static")
    if not rooms_of(problem, budget_bytes).hold(placed.shares.T @ problem.sizes_bytes):
        raise NearfarError(
            "no placement fits these capacities, parts of objects included: raise one of them"
        )
    if not rooms_of(problem, budget_bytes).hold(choice.shares.T @ problem.sizes_bytes):
        said.append(
            "no placement of whole objects fits these capacities: the bars beside the plan exceed "
            "one"
        )
    remark = budget_remark(budget_bytes, problem.footprint_bytes)
    memory = placed.shares.argmax(axis=1)
    return Plan(
        producer=producer(),
        profile=paths[0],
        near=near.name,
        far=fars[0].device.name,
        phase=phase,
        budget_bytes=budget_bytes,
        footprint_bytes=problem.footprint_bytes,
        placements=placements_of(whole, problem, placed.shares, placed.dealt),
        alternatives=alternatives,
        frontier=frontier_points(problem, frontier(problem)),
        prices=problem.prices,
        proven_gap=choices["exact"].proven_gap,
        memories=memories_of(problem, placed.shares, budget_bytes, fars, near_spec),
        phases=moves.phases if moves is not None and "moves" in allow else [],
        undecided=undecided(problem, budget_bytes, memory) if details else [],
        goal=reached,
        profiles=paths if len(paths) > 1 else [],
        over_profiles=over if len(paths) > 1 else "",
        caveats=[
            *([remark] if remark and problem.names else []),
            *([] if problem.names else ["the profile has no objects: there is nothing to place"]),
            *said,
            *of_plan(
                problem,
                budget_bytes,
                placed.shares,
                choices,
                allow=allow,
                joint_limits=machine is not None,
            ),
            *(_hints(problem, budget_bytes, choice.shares, can_split, allow) if details else []),
            *not_cached,
            *_about_memories(problem, whole),
        ],
    )


def _check(
    allow: Collection[str],
    over: str,
    *,
    goal: float | None,
    budget: int | str | None,
    move_gb_per_s: float | None,
) -> None:
    for one in allow:
        if one not in get_args(Allowed):
            known = list(get_args(Allowed))
            hint = nearest(one, known) or f"; there are: {', '.join(known)}"
            raise NearfarError(f"a plan cannot be allowed {one!r}{hint}")
    if over not in get_args(Over):
        raise NearfarError(f"slowdowns of several profiles count by mean or worst, not {over!r}")
    if goal is not None:
        check_goal(goal)
    if (goal is None) == (budget is None):
        raise NearfarError(
            "say how much near memory there is (--budget) or how slow it may be (--slo), one of "
            "the two"
        )
    if move_gb_per_s is not None and not (math.isfinite(move_gb_per_s) and move_gb_per_s > 0):
        raise NearfarError(f"data cannot move at {move_gb_per_s:g} GB/s: give a rate above 0")


def _chosen(problem: Problem, budget_bytes: int, optimiser: str, allow: Collection[str]) -> Choice:
    """Return an optimiser's choice, or greedy's, over full, where only parts of objects fit."""
    try:
        return OPTIMISERS.get(optimiser)().choose(problem, budget_bytes)
    except NearfarError:
        rooms_of(problem, budget_bytes)  # Where not even bytes fit, that is what is said.
        if "parts" not in allow:
            raise
        return OPTIMISERS.get("greedy")().choose(problem, budget_bytes)


def _allowed(
    problem: Problem,
    budget_bytes: int,
    shares: Array,
    can_split: NDArray[np.bool_],
    allow: Collection[str],
) -> Placed:
    """Return the choice with what is allowed done where it pays."""
    if "parts" in allow:
        split = with_parts(problem, budget_bytes, can_split, shares)
        fits = rooms_of(problem, budget_bytes).hold(shares.T @ problem.sizes_bytes)
        if split is not None:
            shares = best_of(problem, [shares, split]) if fits else split
    dealt: dict[int, tuple[int, ...]] = {}
    if "interleave" in allow:
        shares, dealt = interleaved(problem, budget_bytes, shares, can_split)
    return Placed(shares, dealt)


def _per_phase_bar(problem: Problem, placed: Placed, moves: Moving) -> Evaluation:
    """Return the moving plan's bar: the static plan's interval around its own time."""
    static = evaluate(problem, placed.shares[np.newaxis])[0]
    factor = moves.time_ns / static.time_ns.value if static.time_ns.value > 0 else 1.0
    first = evaluate(problem, moves.shares[moves.first][np.newaxis])[0]
    return replace(
        first,
        time_ns=scale_estimate(static.time_ns, factor),
        slowdown=scale_estimate(static.slowdown, factor),
    )


def _said_of_moves(workload: WorkloadProfile, problem: Problem, moves: Moving) -> list[str]:
    moved = sum(one.bytes for phase in moves.phases for one in phase.moves)
    said = [
        f"data moves at the start of {len(moves.phases)} phases, {format_bytes(moved)} in all each "
        f"time round; copies are {moves.copying_ns / moves.time_ns:.1%} of the plan's time"
    ]
    seen = changes_of(workload, [phase.name for phase in problem.phases])[2]
    if not seen:
        said.append(
            "the profile's samples do not show when phases change: each is taken to follow the one "
            "before once, with its objects in full"
        )
    return said


def _hints(
    problem: Problem,
    budget_bytes: int,
    shares: Array,
    can_split: NDArray[np.bool_],
    allow: Collection[str],
) -> list[str]:
    """Say what would pay and is not allowed."""
    now = float(problem.shared_times_ns(shares))
    found = []
    ways: tuple[tuple[Allowed, str], ...] = (
        ("parts", "parts of large objects near"),
        ("interleave", "pages of what streams most dealt out"),
    )
    allowed = set(allow)
    for way, what in ways:
        # What pages dealt out save beside parts is not what parts alone would save too.
        allowed.add(way)
        if not np.any(can_split) or now <= 0:
            break
        other = _allowed(problem, budget_bytes, shares, can_split, allowed)
        then = float(problem.shared_times_ns(other.shares))
        if way not in allow and 1.0 - then / now > WORTH_SAYING:
            found.append(
                f"with {what} it is predicted {1.0 - then / now:.0%} faster: --allow {way}"
            )
        now = min(now, then)
    return found


def _about_memories(problem: Problem, workload: WorkloadProfile) -> list[str]:
    """Return what predict says of these memories and this profile, each sentence once."""
    common = common_caveats(workload, problem.phases, problem.near)
    return list(
        dict.fromkeys(
            sentence for far in problem.fars for sentence in caveats(problem.near, far, common)
        )
    )

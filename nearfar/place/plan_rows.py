"""Rows of the plan document: placements, memories, the frontier of budgets, other ways as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import msgspec
import numpy as np

from nearfar.base.estimate import Estimate, scale_estimate, sum_estimates
from nearfar.documents import WorkloadProfile
from nearfar.documents.plan import (
    Alternative,
    BarName,
    FrontierPoint,
    Part,
    Placement,
    PlanMemory,
)
from nearfar.place.evaluation import Evaluation, evaluate, interval_estimates, weighted
from nearfar.place.filling import Order, greedy_order
from nearfar.place.machine_file import FarMemory
from nearfar.place.optimiser import OPTIMISERS, PlacementChoice
from nearfar.place.parts import parts_of, parts_of_ranges
from nearfar.place.problem import Problem
from nearfar.place.task import ExtendedShares
from nearfar.place.uncertainty import write_over_read
from nearfar.predict.interval import FarEstimate, far_estimate
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import MODELS, ModelLacksError
from nearfar.predict.object_effects import added_interval
from nearfar.predict.traffic import Array, PhaseTraffic


def placements_of(
    workload: WorkloadProfile,
    problem: Problem,
    extended: ExtendedShares,
) -> list[Placement]:
    """Return the placements of all objects that can move."""
    shares, weights = extended.shares, extended.weights
    # An error of near time applies to the whole time, not to the time that objects add.
    far = sum_estimates(
        [
            scale_estimate(outcome.slowdown, phase.near_time_ns.value)
            for phase, outcome in zip(problem.phases, problem.far_outcomes[0], strict=True)
        ]
    )
    added = problem.added_ns
    low, high = added_interval(added, problem.near_time_ns.value, far)
    effects = zip(added.tolist(), low.tolist(), high.tolist(), strict=True)
    names, order = problem.memory_names, problem.speed_order
    memories = [names[memory] for memory in shares.argmax(axis=1).tolist()]
    sizes = problem.sizes_bytes.astype(np.int64).tolist()
    divided = set(np.flatnonzero(shares.max(axis=1, initial=0.0) < 1.0).tolist())
    return [
        Placement(
            object=number,
            name=problem.names[number],
            size_bytes=sizes[number],
            memory=memories[number],
            added_ns_if_far=Estimate(*effect),
            kind=item.kind,
            frames=item.frames,
            told_by=item.told_by,
            via=item.via,
            split=item.split,
            parts=_parts(extended, number, names, order)
            if number in divided and number not in weights
            else [],
            interleave={
                name: weight for name, weight in zip(names, weights[number], strict=False) if weight
            }
            if number in weights
            else {},
        )
        for number, (item, effect) in enumerate(zip(workload.objects, effects, strict=True))
        if number not in problem.fixed
    ]


def _parts(extended: ExtendedShares, number: int, names: list[str], order: list[int]) -> list[Part]:
    """Return the parts of an object: ranges, or shares of every block."""
    if extended.ranges is not None:
        ranged = extended.ranges.ranged
        at = np.flatnonzero(ranged.parents == number)
        if len(at) > 1:
            columns = (ranged.begins, ranged.ends, ranged.problem.sizes_bytes)
            rows = zip(
                *(column[at].tolist() for column in columns),
                extended.ranges.shares[at],
                strict=True,
            )
            return parts_of_ranges(list(rows), names, order)
    return parts_of(extended.shares[number], names, order)


def memories_of(
    problem: Problem, shares: Array, budget_bytes: int, fars: Sequence[FarMemory], near_spec: str
) -> list[PlanMemory]:
    """Return the plan's memories, near first."""
    used_bytes = (shares.T @ problem.sizes_bytes).round().astype(int).tolist()
    capacities = [budget_bytes, *(far.capacity_bytes for far in fars)]
    specs = [near_spec, *(far.spec for far in fars)]
    rows = zip(
        problem.memory_names,
        problem.memories,
        capacities,
        specs,
        used_bytes,
        problem.prices_per_byte().tolist(),
        strict=True,
    )
    return [
        PlanMemory(
            name=name,
            device=memory.device.name,
            spec=spec,
            capacity_bytes=capacity,
            used_bytes=used,
            price_per_byte=price,
            write_over_read=write_over_read(memory),
        )
        for name, memory, capacity, spec, used, price in rows
    ]


@dataclass(frozen=True, eq=False)
class BudgetFrontier:
    """Times with the first 0, 1, ... objects of the greedy order near."""

    order: Order
    near_bytes: Array
    """Near memory used after each step, shape (steps + 1,)."""
    times_ns: Array
    """Best time up to each step, which never rises: a step without benefit is not taken."""


def frontier(problem: Problem) -> BudgetFrontier:
    """Return the frontier of all budgets."""
    order = greedy_order(problem)
    # Fixed objects are near at every budget.
    can_move = np.ones(len(problem.names), dtype=bool)
    can_move[list(problem.fixed)] = False
    moves = can_move[order]
    order = np.concatenate((order[~moves], order[moves]))
    near_bytes = np.concatenate(([0.0], np.cumsum(problem.sizes_bytes[order])))
    times = np.minimum.accumulate(problem.times_along(order))
    first = int((~moves).sum())
    return BudgetFrontier(order[first:], near_bytes[first:], times[first:])


def frontier_points(problem: Problem) -> list[FrontierPoint]:
    """Return the frontier as the document's points."""
    curve = frontier(problem)
    times, slowdowns = interval_estimates(problem, curve.times_ns)
    costs = problem.cost_relative(curve.near_bytes).tolist()
    added: list[int | None] = [None, *curve.order.tolist()]
    sizes = [round(value) for value in curve.near_bytes.tolist()]
    return [
        FrontierPoint(
            near_bytes=size, object_added=index, time_ns=time, slowdown=slowdown, cost_relative=cost
        )
        for size, index, time, slowdown, cost in zip(
            sizes, added, times, slowdowns, costs, strict=True
        )
    ]


CACHE_MODEL = "memory-mode"


def optimiser_bars(problem: Problem, choices: dict[str, PlacementChoice]) -> list[Alternative]:
    """Return the bars of the optimisers' choices."""
    evaluations = evaluate(problem, np.stack([choice.shares for choice in choices.values()]))
    return [
        bar(problem, OPTIMISERS.get(name).bar, evaluation)
        for name, evaluation in zip(choices, evaluations, strict=True)
    ]


def bar(problem: Problem, name: BarName, evaluation: Evaluation) -> Alternative:
    """Return one placement's bar."""
    return Alternative(
        name=name,
        near_bytes=evaluation.near_bytes,
        time_ns=evaluation.time_ns,
        slowdown=evaluation.slowdown,
        cost_relative=evaluation.cost_relative,
        bytes_by_memory=dict(zip(problem.memory_names, evaluation.bytes_by_memory, strict=True)),
    )


def memory_mode_bar(problem: Problem, budget_bytes: int) -> tuple[Alternative | None, list[str]]:
    """Return the bar of near memory as a cache of the budget's size before the first far memory.

    None, with a sentence of the reason, if the profile lacks what the model needs; None without a
    sentence for a budget of 0.
    """
    if budget_bytes <= 0 or not problem.names:
        return None, []
    near = _with_size(problem.near, budget_bytes)
    try:
        outcomes = [_behind_cache(phase, near, problem.far) for phase in problem.phases]
    except ModelLacksError as error:
        return None, [f"Memory Mode is not shown: {error}"]
    slowdown = weighted(problem.phase_weights, [phase.slowdown for phase in outcomes])
    used = np.zeros(len(problem.fars) + 1)
    # All data is in far memory, in addition to the cache.
    used[0], used[1] = budget_bytes, problem.footprint_bytes
    evaluation = Evaluation(
        time_ns=sum_estimates([phase.far_time_ns for phase in outcomes]),
        slowdown=slowdown if problem.near_time_ns.value > 0 else Estimate(1.0, 1.0, 1.0),
        bytes_by_memory=used.astype(int).tolist(),
        cost_relative=float(problem.price_relative(used)),
    )
    return bar(problem, "memory-mode", evaluation), []


@lru_cache(maxsize=64)
def _with_size(near: MemoryCosts, size_bytes: int) -> MemoryCosts:
    """Return a near memory of this size; cached, because models are cached by this object."""
    device = msgspec.structs.replace(near.device, capacity_bytes=size_bytes)
    return replace(near, device=device)


@lru_cache(maxsize=64)
def _behind_cache(phase: PhaseTraffic, near: MemoryCosts, far: MemoryCosts) -> FarEstimate:
    """Return a phase's time with near memory as a cache before `far`; the result is kept."""
    kind = MODELS.get(CACHE_MODEL)
    return far_estimate(kind, phase, near, far, kind(phase, near, far))

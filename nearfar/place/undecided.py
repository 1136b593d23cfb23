"""Which choices hang on the interval, and which on writes.

Each thing in doubt is varied alone, as in `predict`, and changes each object's cost. What changes
all costs by one factor changes no choice, so that is taken out; what is left falls on some objects
more than on others, and is added in quadrature, upward and downward apart. An object is undecided
where it would go elsewhere at its own low end than at its high end, at the price that room has in
the plan.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nearfar.documents.plan import Undecided
from nearfar.place.problem import Problem
from nearfar.place.quick import quick_choice
from nearfar.place.room_prices import price_rooms
from nearfar.place.rooms import rooms_of
from nearfar.predict.interval import perturbations
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import Model, Perturbation
from nearfar.predict.traffic import Array

LITTLE = 0.002
"""Share of the added time below which where an object goes does not matter."""

MOST_OBJECTS = 2000
"""Of more, those that add most are varied and the others keep their costs: seventeen variations of
10,000 objects would take longer than the plan. What is left out adds least."""


def undecided(problem: Problem, budget_bytes: float, memory: NDArray[np.int_]) -> list[Undecided]:
    """Return the objects that would be elsewhere at one end of the interval, dearest first."""
    if not problem.names:
        return []
    low, high = cost_ends(problem)
    rooms = rooms_of(problem, budget_bytes)
    prices = price_rooms(problem.costs_ns, problem.sizes_bytes, rooms).prices
    capacities = np.array([budget_bytes, *problem.capacities_bytes])
    sizes = problem.sizes_bytes[:, np.newaxis]
    # Where it does not fit by itself it never goes, whatever it costs.
    room = np.where(sizes <= capacities, sizes * (prices @ rooms.weights), np.inf)
    at_low, at_high = (low + room).argmin(axis=1), (high + room).argmin(axis=1)
    names = problem.memory_names
    return [
        Undecided(
            object=int(i),
            name=problem.names[i],
            memory=names[memory[i]],
            at_low=names[at_low[i]],
            at_high=names[at_high[i]],
        )
        for i in differing(problem, at_low, at_high)
    ]


def differing(problem: Problem, one: NDArray[np.int_], other: NDArray[np.int_]) -> list[int]:
    """Return the objects that two choices place apart and that matter, dearest first."""
    worst = np.abs(problem.costs_ns).max(axis=1, initial=0.0)
    found = np.flatnonzero((one != other) & (worst > LITTLE * worst.sum()))
    return [int(i) for i in found[np.argsort(-worst[found], kind="stable")]]


def cost_ends(problem: Problem) -> tuple[Array, Array]:
    """Return low and high ends of objects' costs in each memory, ns, common factors left out."""
    costs = problem.costs_ns
    worst = np.abs(costs).max(axis=1, initial=0.0)
    kept = np.argsort(-worst, kind="stable")[:MOST_OBJECTS]
    down, up = np.zeros_like(costs), np.zeros_like(costs)
    for memory, models in enumerate(problem.by_far, start=1):
        for model in models:
            # A phase without time has no interval, and a memory like near's none of its own.
            if model.far.is_near or model.phase.near_time_ns.value <= 0.0:
                continue
            rows, near, far = model.phase.objects[kept], problem.near, model.given_far
            central = _added(type(model)(model.phase, near, far), rows)
            for doubt in perturbations(model.phase, near, far):
                varied = _added(type(model)(model.phase, near, far, doubt), rows)
                common = varied.sum() / central.sum() if central.sum() > 0 else 1.0
                change = varied / common - central if common > 0 else np.zeros_like(central)
                up[kept, memory] += np.maximum(change, 0.0) ** 2
                down[kept, memory] += np.minimum(change, 0.0) ** 2
    return costs - np.sqrt(down), costs + np.sqrt(up)


def _added(model: Model, rows: Array) -> Array:
    """Return what each object adds as the first to go, ns."""
    return np.asarray(model.times_ns(rows) - model.near_time_ns)


def by_classes(problem: Problem, budget_bytes: float) -> list[int]:
    """Return the objects whose place hangs on where parallelism comes from."""
    other = problem.doubting(Perturbation(parallelism="classes"))
    return differing(
        problem,
        quick_choice(problem, problem.costs_ns, budget_bytes),
        quick_choice(problem, other.costs_ns, budget_bytes),
    )


def by_writes(problem: Problem, budget_bytes: float) -> list[int]:
    """Return the objects that would be elsewhere if far memory wrote as fast as it reads."""
    fars = [_writing_as_reading(far, problem.near) for far in problem.fars]
    other = problem.doubting(fars=fars)
    return differing(
        problem,
        quick_choice(problem, problem.costs_ns, budget_bytes),
        quick_choice(problem, other.costs_ns, budget_bytes),
    )


def write_over_read(memory: MemoryCosts) -> float:
    """Return the bandwidth time of a random line written over that of one read."""
    return memory.write_ns[0] / memory.read_ns[0]


def _writing_as_reading(far: MemoryCosts, near: MemoryCosts) -> MemoryCosts:
    """Return the memory with near memory's ratio of writes to reads."""
    ratio = [w / r for w, r in zip(near.write_ns, near.read_ns, strict=True)]
    return replace(far, write_ns=(far.read_ns[0] * ratio[0], far.read_ns[1] * ratio[1]))

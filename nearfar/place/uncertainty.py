"""Objects whose memory depends on the prediction's interval, on access classes or on writes.

Each uncertain input is perturbed separately, as in `predict`, which changes each object's cost. A
factor common to all costs changes no choice and is divided out. The remaining changes are added in
quadrature, upward and downward separately. An object is undecided if its best memory, at the plan's
prices of the limits, differs between the low and the high end of its cost.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nearfar.documents.plan import Undecided
from nearfar.place.capacity import capacity_limits, limit_prices
from nearfar.place.filling import fill, greedy_order
from nearfar.place.problem import Problem
from nearfar.place.search import greedy_memory, is_one_knapsack
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import Model, Perturbation
from nearfar.predict.perturbations import perturbations
from nearfar.predict.traffic import Array

MIN_ADDED_SHARE = 0.002
"""Share of the added time below which an object's memory does not matter."""

MAX_OBJECTS = 2000
"""Most objects whose costs are perturbed, those that add most; the others keep their costs.
Seventeen perturbations of 10,000 objects would take longer than the plan."""


def undecided_objects(
    problem: Problem, budget_bytes: float, memory: NDArray[np.int_]
) -> list[Undecided]:
    """Return the objects that go elsewhere at one end of the interval, most added time first."""
    if not problem.names:
        return []
    low, high = cost_ends(problem)
    limits = capacity_limits(problem, budget_bytes)
    prices = limit_prices(problem, budget_bytes).prices
    capacities = np.array([budget_bytes, *problem.capacities_bytes])
    sizes = problem.sizes_bytes[:, np.newaxis]
    # An object that is larger than a memory never goes there, whatever its cost.
    price = np.where(sizes <= capacities, sizes * (prices @ limits.weights), np.inf)
    at_low, at_high = (low + price).argmin(axis=1), (high + price).argmin(axis=1)
    names = problem.memory_names
    return [
        Undecided(
            object=int(i),
            name=problem.names[i],
            memory=names[memory[i]],
            at_low=names[at_low[i]],
            at_high=names[at_high[i]],
        )
        for i in _differing(problem, at_low, at_high)
    ]


def _differing(problem: Problem, first: NDArray[np.int_], second: NDArray[np.int_]) -> list[int]:
    """Return the objects that matter and differ between two choices, most added time first."""
    worst = np.abs(problem.costs_ns).max(axis=1, initial=0.0)
    objects = np.flatnonzero((first != second) & (worst > MIN_ADDED_SHARE * worst.sum()))
    return [int(i) for i in objects[np.argsort(-worst[objects], kind="stable")]]


def cost_ends(problem: Problem) -> tuple[Array, Array]:
    """Return low and high ends of objects' costs in each memory, ns, without common factors."""
    costs = problem.costs_ns
    worst = np.abs(costs).max(axis=1, initial=0.0)
    selected = np.argsort(-worst, kind="stable")[:MAX_OBJECTS]
    down, up = np.zeros_like(costs), np.zeros_like(costs)
    for memory, models in enumerate(problem.by_far, start=1):
        for model in models:
            # A phase without time has no interval, nor has a far memory equal to the near one.
            if model.far.is_near or model.phase.near_time_ns.value <= 0.0:
                continue
            rows, near, far = model.phase.objects[selected], problem.near, model.given_far
            kind, phase = type(model), model.phase
            central = _added_first_ns(kind(phase, near, far), rows)
            for perturbation in perturbations(kind, phase, near, far):
                varied = _added_first_ns(kind(phase, near, far, perturbation), rows)
                common = varied.sum() / central.sum() if central.sum() > 0 else 1.0
                change = varied / common - central if common > 0 else np.zeros_like(central)
                up[selected, memory] += np.maximum(change, 0.0) ** 2
                down[selected, memory] += np.minimum(change, 0.0) ** 2
    return costs - np.sqrt(down), costs + np.sqrt(up)


def _added_first_ns(model: Model, rows: Array) -> Array:
    """Return what each object adds as the first one in far memory, ns."""
    return np.asarray(model.times_ns(rows) - model.near_time_ns)


def decided_by_classes(problem: Problem, budget_bytes: float) -> list[int]:
    """Return the objects that go elsewhere with parallelism from access classes alone."""
    return _changed(problem, problem.perturbed(Perturbation(parallelism="classes")), budget_bytes)


def decided_by_writes(problem: Problem, budget_bytes: float) -> list[int]:
    """Return the objects that go elsewhere if far memory writes as fast as it reads."""
    fars = [_writing_as_reading(far, problem.near) for far in problem.fars]
    return _changed(problem, problem.perturbed(fars=fars), budget_bytes)


def _changed(problem: Problem, other: Problem, budget_bytes: float) -> list[int]:
    """Return the objects that greedy places elsewhere with the other problem's costs."""
    return _differing(
        problem, _greedy_memory(problem, budget_bytes), _greedy_memory(other, budget_bytes)
    )


def _greedy_memory(problem: Problem, budget_bytes: float) -> NDArray[np.int_]:
    """Return each object's memory by greedy."""
    sizes = problem.sizes_bytes
    if is_one_knapsack(problem):
        return np.where(fill(greedy_order(problem), sizes, budget_bytes) > 0, 0, 1)
    memory = greedy_memory(problem, budget_bytes)
    return np.zeros(len(sizes), dtype=int) if memory is None else memory


def write_over_read(memory: MemoryCosts) -> float:
    """Return the bandwidth time of a random line written over that of one read."""
    return memory.write_ns[0] / memory.read_ns[0]


def _writing_as_reading(far: MemoryCosts, near: MemoryCosts) -> MemoryCosts:
    """Return the memory with near memory's ratio of write time to read time."""
    ratio = [w / r for w, r in zip(near.write_ns, near.read_ns, strict=True)]
    return replace(far, write_ns=(far.read_ns[0] * ratio[0], far.read_ns[1] * ratio[1]))

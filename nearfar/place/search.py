"""Search for placements: solvers optimise sums, and the model times their choices.

If bandwidth is the limit, the time that an object adds depends on the memories of the others. Then
costs are computed again around the choice, and solved again, as in sequential linear programming.
For the worst of several inputs, an input's weight grows while it is the slowest (multiplicative
weights). This gives choices and also a lower bound, because a weighted mean of inputs is at most
the worst input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from nearfar.place.assignment import MemoryNumbers, assign, assign_from, greedy_assignment
from nearfar.place.capacity import capacity_limits, limit_prices, price_limits
from nearfar.place.filling import (
    fill,
    fill_memories,
    greedy_order,
    order_by_density,
    single_best,
    whole_shares,
)
from nearfar.place.knapsack import knapsack
from nearfar.place.problem import Problem
from nearfar.predict.traffic import Array

MAX_SUM_ERROR = 0.005
"""Relative difference of summed and modelled time above which costs are computed again."""

MAX_ROUNDS = 3
"""Most times that costs are computed again; the search stops where a choice repeats."""

MAX_ENUMERATED = 4096
"""Most placements that the model times one by one: twelve objects in two memories, 20 ms."""

WEIGHT_STEPS = 24
"""Steps of the search over weights of inputs."""
WEIGHT_RATE = 8.0
"""Growth rate of weights: in a step, the worst input's weight doubles against one 9 % faster."""


def is_one_knapsack(problem: Problem) -> bool:
    """Return whether the budget is the only limit and inputs count by their mean."""
    return (
        len(problem.fars) == 1
        and math.isinf(problem.capacities_bytes[0])
        and math.isinf(problem.max_cost)
        and problem.over == "mean"
    )


def best_of(problem: Problem, choices: list[Array]) -> Array:
    """Return the choice that the model times fastest; the first of equal ones."""
    return choices[int(np.argmin(problem.shared_times_ns(np.stack(choices))))]


def greedy_near_shares(problem: Problem, budgets_bytes: Sequence[float]) -> Array:
    """Return each budget's greedy choice with one far memory: near shares, (budgets, objects).

    It is the better of the filling by density and the one best object that fits.
    """
    order, sizes = greedy_order(problem), problem.sizes_bytes
    rivals = np.stack(
        [[fill(order, sizes, budget), single_best(problem, budget)] for budget in budgets_bytes]
    )
    best = problem.times_ns(rivals).argmin(axis=1)
    return np.asarray(rivals[np.arange(len(rivals)), best])


@lru_cache(maxsize=16)
def greedy_memory(problem: Problem, budget_bytes: float) -> MemoryNumbers | None:
    """Return each object's memory by greedy for several limits; None if an object fits nowhere.

    Cached, because the exact choice begins with it and sentences of a plan compare it.
    """
    limits = capacity_limits(problem, budget_bytes)
    prices = limit_prices(problem, budget_bytes)
    return greedy_assignment(problem.costs_ns, problem.sizes_bytes, limits, prices)


def greedy_search(problem: Problem, budget_bytes: float) -> Array:
    """Return the better of greedy at the limits' prices and of filling one memory after another."""
    limits = capacity_limits(problem, budget_bytes)
    costs, sizes = problem.costs_ns, problem.sizes_bytes
    greedy = greedy_memory(problem, budget_bytes)
    order = order_by_density(costs[:, problem.speed_order[-1]], sizes)
    choices = [fill_memories(problem, order, budget_bytes)]
    if greedy is not None:
        choices.insert(0, whole_shares(greedy, costs.shape[1]))
    fitting = [choice for choice in choices if limits.allow(choice.T @ sizes)]
    return best_of(problem, fitting or choices)


def knapsack_search(problem: Problem, budget_bytes: float) -> Array:
    """Return the best choice found for one budget and one far memory."""
    sizes = problem.sizes_bytes

    def solved(costs: Array) -> Array:
        chosen = knapsack(costs[:, 1], sizes, budget_bytes).chosen
        return problem.in_first_far(np.where(chosen, 1.0, 0.0))

    choices = _choices_around(problem, solved, problem.costs_ns)
    filled = fill(greedy_order(problem), sizes, budget_bytes)
    choices += [problem.in_first_far(near) for near in (filled, single_best(problem, budget_bytes))]
    return enumerated(problem, budget_bytes, best_of(problem, choices))


def exact_search(problem: Problem, budget_bytes: float) -> Array:
    """Return the best choice found for several limits."""
    limits = capacity_limits(problem, budget_bytes)
    sizes, memories = problem.sizes_bytes, len(problem.fars) + 1

    def solved(costs: Array) -> Array:
        if costs is not problem.costs_ns:
            return whole_shares(assign(costs, sizes, limits).memory, memories)
        prices = limit_prices(problem, budget_bytes)
        greedy = greedy_memory(problem, budget_bytes)
        return whole_shares(assign_from(costs, sizes, limits, prices, greedy).memory, memories)

    if problem.over == "worst" and len(set(problem.inputs)) > 1:
        weighted = weighted_search(problem, budget_bytes, problem.costs_by_input_ns)[0]
        choices = [solved(problem.costs_ns), *weighted]
    else:
        choices = _choices_around(problem, solved, problem.costs_ns)
        greedy = greedy_search(problem, budget_bytes)
        if limits.allow(greedy.T @ sizes):
            choices.append(greedy)
    return enumerated(problem, budget_bytes, best_of(problem, choices))


def _choices_around(
    problem: Problem, solved: Callable[[Array], Array], costs_ns: Array
) -> list[Array]:
    """Return a solver's choice, and its choices for costs around each earlier one."""
    choices = [solved(costs_ns)]
    for _ in range(MAX_ROUNDS):
        center = choices[-1]
        time_ns = float(problem.shared_times_ns(center))
        summed = problem.near_time_ns.value + float((center * costs_ns).sum())
        if abs(summed - time_ns) <= MAX_SUM_ERROR * time_ns and len(choices) == 1:
            break
        choice = solved(costs_around(problem, center))
        if any(np.array_equal(choice, earlier) for earlier in choices):
            break
        choices.append(choice)
    return choices


def enumerated(problem: Problem, budget_bytes: float, start: Array) -> Array:
    """Return the fastest placement of the objects that are nearest to changing their memory.

    All combinations of these objects' memories are timed; the other objects stay as in `start`. If
    the problem has few objects, these are all that matter, so the result is optimal.
    """
    limits = capacity_limits(problem, budget_bytes)
    sizes, memories = problem.sizes_bytes, start.shape[1]
    matters = _objects_that_matter(problem)
    count = min(len(matters), int(math.log(MAX_ENUMERATED, memories)))
    if count == 0:
        return start
    reduced = np.sort(limit_prices(problem, budget_bytes).reduced_ns[matters], axis=1)
    nearest = matters[np.argsort(reduced[:, 1] - reduced[:, 0], kind="stable")[:count]]
    each = np.stack(np.meshgrid(*[np.arange(memories)] * count, indexing="ij"), axis=-1)
    rows = np.eye(memories)[each.reshape(-1, count)]
    used = (start.T @ sizes) - start[nearest].T @ sizes[nearest]
    used = used + np.einsum("pom,o->pm", rows, sizes[nearest])
    rows = rows[limits.allow_each(used)]
    if not len(rows):
        return start
    far = range(1, memories)
    times_ns = problem.times_by_phase(
        [
            [
                rows[..., m] @ phase.objects[nearest]
                + (start[:, m] @ phase.objects - start[nearest, m] @ phase.objects[nearest])
                for m in far
            ]
            for phase in problem.phases
        ]
    )
    fastest = start.copy()
    fastest[nearest] = rows[int(np.argmin(times_ns))]
    return best_of(problem, [start, fastest])


def has_few(problem: Problem) -> bool:
    """Return whether `enumerated` times every placement."""
    return len(_objects_that_matter(problem)) <= int(
        math.log(MAX_ENUMERATED, len(problem.fars) + 1)
    )


def _objects_that_matter(problem: Problem) -> NDArray[np.intp]:
    """Return the objects that have traffic and need space."""
    traffic = np.any([phase.objects.any(axis=1) for phase in problem.phases], axis=0)
    return np.flatnonzero(traffic & (problem.sizes_bytes > 0))


def costs_around(problem: Problem, shares: Array) -> Array:
    """Return the time that each object adds in each memory while the others stay, ns."""
    memories = shares.shape[1]
    costs = np.zeros_like(shares)
    for memory in range(memories):
        moved = []
        for phase in problem.phases:
            lines = []
            for far in range(1, memories):
                without = (
                    shares[:, far] @ phase.objects - shares[:, far, np.newaxis] * phase.objects
                )
                lines.append(np.maximum(without + (phase.objects if far == memory else 0.0), 0.0))
            moved.append(lines)
        costs[:, memory] = problem.times_by_phase(moved)
    return costs - costs[:, :1]


def weighted_search(
    problem: Problem, budget_bytes: float, costs: Array
) -> tuple[list[Array], float]:
    """Return choices for weighted inputs, and a lower bound of the worst input's added time.

    `costs` are of each input, (inputs, objects, memories). The bound is multiplied by the number of
    inputs, as the problem's times are.
    """
    limits = capacity_limits(problem, budget_bytes)
    sizes, memories = problem.sizes_bytes, len(problem.fars) + 1
    inputs = sorted(set(problem.inputs))
    weights = np.full(len(inputs), 1.0 / len(inputs))
    choices: list[Array] = []
    bound = -np.inf
    for _ in range(WEIGHT_STEPS):
        joined = np.tensordot(weights, costs, axes=1) * len(inputs)
        prices = price_limits(joined, sizes, limits)
        bound = max(bound, prices.bound_ns)
        memory = greedy_assignment(joined, sizes, limits, prices)
        if memory is None:
            memory = assign(joined, sizes, limits).memory
        choice = whole_shares(memory, memories)
        if not any(np.array_equal(choice, earlier) for earlier in choices):
            choices.append(choice)
        near_ns = problem.near_time_ns.value / len(inputs)
        spent = near_ns + np.einsum("om,iom->i", choice, costs)
        weights = weights * np.exp(WEIGHT_RATE * (spent / spent.max() - 1.0))
        weights /= weights.sum()
    joined = np.tensordot(weights, costs, axes=1) * len(inputs)
    choices.append(whole_shares(assign(joined, sizes, limits).memory, memories))
    return choices, float(bound)

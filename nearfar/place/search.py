"""Search for placements with several limits: solvers see sums, the model times their choices.

Where bandwidth binds, what an object adds depends on where the others are. Then costs are computed
again around the choice, and solved again: a step of sequential linear programming. For the worst
of several inputs, the weight of an input grows while it is the worst (multiplicative weights). That
gives choices and also a bound, because any weighted mean of inputs is below the worst.
"""

from __future__ import annotations

import math

import numpy as np

from nearfar.place.assignment import assign, greedy_assignment, saved_ns
from nearfar.place.capacity import capacity_limits, price_limits
from nearfar.place.filling import fill_memories, order_by_density, whole_shares
from nearfar.place.problem import Problem
from nearfar.predict.traffic import Array

MAX_SUM_ERROR = 0.005
"""Relative difference of summed and modelled time above which costs are computed again."""

MAX_ROUNDS = 3
"""Most times that costs are computed again; the search stops where a choice repeats."""

WEIGHT_STEPS = 24
"""Steps of the search over weights of inputs."""
WEIGHT_RATE = 8.0
"""Growth rate of the worst input's weight: twice that of an input 9 % better per step."""


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


def greedy_search(problem: Problem, budget_bytes: float) -> Array:
    """Return the better of greedy at the limits' prices and of filling memory after memory."""
    limits = capacity_limits(problem, budget_bytes)
    costs, sizes = problem.costs_ns, problem.sizes_bytes
    greedy = greedy_assignment(costs, sizes, limits, price_limits(costs, sizes, limits))
    order = order_by_density(costs[:, problem.speed_order[-1]], sizes)
    choices = [fill_memories(problem, order, budget_bytes)]
    if greedy is not None:
        choices.insert(0, whole_shares(greedy, costs.shape[1]))
    fitting = [choice for choice in choices if limits.allow(choice.T @ sizes)]
    return best_of(problem, fitting or choices)


def exact_search(problem: Problem, budget_bytes: float) -> tuple[Array, float]:
    """Return the best choice found, and its gap, proven where times add."""
    limits = capacity_limits(problem, budget_bytes)
    sizes, memories = problem.sizes_bytes, len(problem.fars) + 1
    assignment = assign(problem.costs_ns, sizes, limits)
    choices = [whole_shares(assignment.memory, memories)]
    if problem.over == "worst" and len(set(problem.inputs)) > 1:
        weighted_choices, bound_ns = _weighted_search(problem, budget_bytes)
        best = best_of(problem, choices + weighted_choices)
        near_ns = problem.near_time_ns.value
        added = float(problem.shared_times_ns(best)) - near_ns
        saved = saved_ns(problem.costs_ns, best.argmax(axis=1))
        return best, max(0.0, (added - bound_ns) / saved) if saved > 0 else 0.0
    for _ in range(MAX_ROUNDS):
        center = choices[-1]
        time_ns = float(problem.shared_times_ns(center))
        summed = problem.near_time_ns.value + float((center * problem.costs_ns).sum())
        if abs(summed - time_ns) <= MAX_SUM_ERROR * time_ns and len(choices) == 1:
            break
        costs = costs_around(problem, center)
        choice = whole_shares(assign(costs, sizes, limits).memory, memories)
        if any(np.array_equal(choice, earlier) for earlier in choices):
            break
        choices.append(choice)
    greedy = greedy_search(problem, budget_bytes)
    if limits.allow(greedy.T @ sizes):
        choices.append(greedy)
    return best_of(problem, choices), assignment.gap


def costs_around(problem: Problem, shares: Array) -> Array:
    """Return what each object alone would add in each memory with the others in place, ns."""
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


def _weighted_search(problem: Problem, budget_bytes: float) -> tuple[list[Array], float]:
    """Return choices for weighted inputs, and a lower bound of the worst input's added time.

    The bound is multiplied by the number of inputs, as the problem's times are.
    """
    limits = capacity_limits(problem, budget_bytes)
    sizes, memories = problem.sizes_bytes, len(problem.fars) + 1
    inputs = sorted(set(problem.inputs))
    costs = problem.costs_by_input_ns
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
    return choices, bound

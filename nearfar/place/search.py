"""Searching placements over several limits: solvers see sums, the model times what they find.

Where bandwidth binds, what an object adds depends on where the others are. Then costs are taken
anew around the choice found, and solved again: a step of sequential linear programming. For the
worst of several inputs, inputs are weighed up as long as they are the worst (multiplicative
weights), which gives choices and, as any weighing of inputs is below the worst, a bound too.
"""

from __future__ import annotations

import math

import numpy as np

from nearfar.place.assign import assign, greedy_assign, saved_ns
from nearfar.place.order import order_by_density
from nearfar.place.problem import Problem
from nearfar.place.room_prices import price_rooms
from nearfar.place.rooms import rooms_of
from nearfar.place.tiers import fill_tiers, whole
from nearfar.predict.traffic import Array

ADDS_UP = 0.005
"""Relative difference of summed and modelled time from which costs are taken anew."""

ROUNDS = 3
"""Times that costs are taken anew, unless they lead to the same choice before."""

WEIGHINGS = 24
"""Of inputs."""
WEIGHING_RATE = 8.0
"""How fast the worst input's weight grows: twice that of one 9 % better in a step."""


def one_knapsack(problem: Problem) -> bool:
    """Return whether near memory's budget is the only limit, and times add."""
    return (
        len(problem.fars) == 1
        and math.isinf(problem.capacities_bytes[0])
        and math.isinf(problem.most_cost)
        and problem.over == "mean"
    )


def best_of(problem: Problem, choices: list[Array]) -> Array:
    """Return the choice that the model times fastest; the first of equals."""
    return choices[int(np.argmin(problem.shared_times_ns(np.stack(choices))))]


def greedy_several(problem: Problem, budget_bytes: float) -> Array:
    """Return the better of greedy at the price of room and of filling memory after memory."""
    rooms = rooms_of(problem, budget_bytes)
    costs = problem.costs_ns
    found = greedy_assign(
        costs, problem.sizes_bytes, rooms, price_rooms(costs, problem.sizes_bytes, rooms)
    )
    slowest = problem.speed_order[-1]
    order = order_by_density(costs[:, slowest], problem.sizes_bytes)
    rivals = [fill_tiers(problem, order, budget_bytes)]
    if found is not None:
        rivals.insert(0, whole(found, costs.shape[1]))
    fitting = [one for one in rivals if rooms.hold(one.T @ problem.sizes_bytes)]
    return best_of(problem, fitting or rivals)


def exact_several(problem: Problem, budget_bytes: float) -> tuple[Array, float]:
    """Return the best choice found, and its proven gap where times add."""
    rooms = rooms_of(problem, budget_bytes)
    sizes, memories = problem.sizes_bytes, len(problem.fars) + 1
    found = assign(problem.costs_ns, sizes, rooms)
    choices, gap = [whole(found.memory, memories)], found.gap
    if problem.over == "worst" and len(set(problem.inputs)) > 1:
        weighed, bound_ns = _weighed(problem, budget_bytes)
        choices += weighed
        best = best_of(problem, choices)
        near_ns = problem.near_time_ns.value
        taken = float(problem.shared_times_ns(best)) - near_ns
        saved = saved_ns(problem.costs_ns, best.argmax(axis=1))
        return best, max(0.0, (taken - bound_ns) / saved) if saved > 0 else 0.0
    for _ in range(ROUNDS):
        at = choices[-1]
        time_ns = float(problem.shared_times_ns(at))
        summed = problem.near_time_ns.value + float((at * problem.costs_ns).sum())
        if abs(summed - time_ns) <= ADDS_UP * time_ns and len(choices) == 1:
            break
        again = whole(assign(costs_around(problem, at), sizes, rooms).memory, memories)
        if any(np.array_equal(again, one) for one in choices):
            break
        choices.append(again)
    greedy = greedy_several(problem, budget_bytes)
    if rooms.hold(greedy.T @ sizes):
        choices.append(greedy)
    return best_of(problem, choices), gap


def costs_around(problem: Problem, shares: Array) -> Array:
    """Return what each object alone would add in each memory, the others being as they are, ns."""
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


def _weighed(problem: Problem, budget_bytes: float) -> tuple[list[Array], float]:
    """Return choices for weighed inputs, and a bound of what the worst input adds, times inputs."""
    rooms = rooms_of(problem, budget_bytes)
    inputs = sorted(set(problem.inputs))
    costs = problem.costs_by_input_ns
    weights = np.full(len(inputs), 1.0 / len(inputs))
    choices: list[Array] = []
    bound = -np.inf
    for _ in range(WEIGHINGS):
        joined = np.tensordot(weights, costs, axes=1) * len(inputs)
        priced = price_rooms(joined, problem.sizes_bytes, rooms)
        bound = max(bound, priced.bound)
        found = greedy_assign(joined, problem.sizes_bytes, rooms, priced)
        if found is None:
            found = assign(joined, problem.sizes_bytes, rooms).memory
        choice = whole(found, len(problem.fars) + 1)
        if not any(np.array_equal(choice, one) for one in choices):
            choices.append(choice)
        near_ns = problem.near_time_ns.value / len(inputs)
        spent = near_ns + np.einsum("om,iom->i", choice, costs)
        weights = weights * np.exp(WEIGHING_RATE * (spent / spent.max() - 1.0))
        weights /= weights.sum()
    joined = np.tensordot(weights, costs, axes=1) * len(inputs)
    choices.append(whole(assign(joined, problem.sizes_bytes, rooms).memory, len(problem.fars) + 1))
    return choices, bound

"""The assignment of objects to several memories with limits: greedy, and exact to a proven gap.

This is the generalised assignment problem with few limits. Prices of the limits (see `capacity`)
give a lower bound of every choice; the gap of greedy is its distance from this bound. If all other
memories cost an object more than its best memory by more than the gap, every better choice keeps
the object in its best memory (as in `knapsack`). The solver HiGHS decides all other objects.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.base.errors import NearfarError
from nearfar.place.capacity import TOLERANCE, CapacityLimits, LimitPrices, price_limits
from nearfar.place.solver import solve_milp
from nearfar.predict.traffic import Array

TIME_LIMIT_S = 2.5
"""Time after which HiGHS returns its best choice so far, with its gap."""

RELATIVE_GAP = 1e-6
"""Share of the saved time at which HiGHS may stop."""

MAX_GREEDY_GAP = 1e-4
"""Share of the saved time: greedy this close to the bound needs no solver, as no prediction is
that precise."""

MAX_SWEEPS = 3
"""Passes of greedy over all objects for space that is left."""

MemoryNumbers = NDArray[np.int_]
"""The number of each object's memory."""


@dataclass(frozen=True, eq=False)
class Assignment:
    """A memory for each object, and the largest distance of this choice from the best."""

    memory: MemoryNumbers
    gap: float
    """Proven gap, (value - bound) / saved; saved as in `saved_ns`."""


def saved_ns(costs_ns: Array, memory: MemoryNumbers) -> float:
    """Return the time that a choice saves over every object in its slowest memory, ns."""
    rows = np.arange(len(memory))
    return float((costs_ns.max(axis=1, initial=0.0) - costs_ns[rows, memory]).sum())


def greedy_assignment(
    costs_ns: Array, sizes: Array, limits: CapacityLimits, prices: LimitPrices
) -> MemoryNumbers | None:
    """Return each object's memory: of those with space, the one of least time plus price of bytes.

    Objects that lose most per byte in their second best memory go first. Remaining space goes to
    the objects that save most time per byte there. None if some object fits nowhere.
    """
    count, memories = costs_ns.shape
    best_two = np.sort(prices.reduced_ns, axis=1)[:, : min(2, memories)]
    regret = (best_two[:, -1] - best_two[:, 0]) / np.maximum(sizes, 1.0)
    used = np.zeros(len(limits.limits))
    max_used = limits.limits * (1 + TOLERANCE)
    memory = prices.reduced_ns.argmin(axis=1)
    bytes_by_memory = np.bincount(memory, weights=sizes, minlength=memories)
    if not limits.allow(bytes_by_memory):
        ranks = np.argsort(prices.reduced_ns, axis=1)
        memory = np.full(count, -1)
        for index in np.argsort(-regret, kind="stable"):
            for target in ranks[index]:
                after = used + limits.weights[:, target] * sizes[index]
                if np.all(after <= max_used):
                    memory[index], used = target, after
                    break
            else:
                return None
    else:
        used = limits.weights @ bytes_by_memory
    return _improved(costs_ns, sizes, limits, memory, used)


def _improved(
    costs_ns: Array, sizes: Array, limits: CapacityLimits, memory: MemoryNumbers, used: Array
) -> MemoryNumbers:
    """Move objects to faster memories with space for them, most time saved per byte first."""
    max_used = limits.limits * (1 + TOLERANCE)
    rows = np.arange(len(memory))
    for _ in range(MAX_SWEEPS):
        gain = costs_ns[rows, memory][:, np.newaxis] - costs_ns
        # A move that needs more of a limit than is left now never fits, so few moves remain.
        needs = limits.weights.T[np.newaxis] - limits.weights.T[memory][:, np.newaxis]
        fits = np.all(used + needs * sizes[:, np.newaxis, np.newaxis] <= max_used, axis=2)
        objects, targets = np.nonzero((gain > 0) & fits)
        if not len(objects):
            break
        per_byte = gain[objects, targets] / np.maximum(sizes[objects], 1.0)
        order = np.argsort(-per_byte, kind="stable")
        moved = False
        for index, target in zip(objects[order], targets[order], strict=True):
            if costs_ns[index, target] >= costs_ns[index, memory[index]]:
                continue
            change = limits.weights[:, target] - limits.weights[:, memory[index]]
            after = used + change * sizes[index]
            if np.all(after <= max_used):
                memory[index], used, moved = target, after, True
        if not moved:
            break
    return memory


def assign(costs_ns: Array, sizes: Array, limits: CapacityLimits) -> Assignment:
    """Return the choice of least time that meets the limits, with a proven gap."""
    prices = price_limits(costs_ns, sizes, limits)
    greedy = greedy_assignment(costs_ns, sizes, limits, prices)
    rows = np.arange(len(sizes))
    value = np.inf if greedy is None else float(costs_ns[rows, greedy].sum())
    slack = value - prices.bound_ns
    if greedy is not None and slack <= MAX_GREEDY_GAP * max(saved_ns(costs_ns, greedy), 1e-300):
        return Assignment(greedy, _gap(costs_ns, greedy, prices.bound_ns))
    excess = prices.reduced_ns - prices.reduced_ns.min(axis=1, keepdims=True)
    # The margin keeps rounding errors from deciding an object; it only enlarges the core problem.
    undecided = excess <= slack + 1e-9 * abs(slack) + 1e-12 * abs(prices.bound_ns)
    core = np.flatnonzero(undecided.sum(axis=1) > 1)
    memory = prices.reduced_ns.argmin(axis=1)
    fixed = np.setdiff1d(rows, core)
    left = limits.limits - limits.weights @ np.bincount(
        memory[fixed], weights=sizes[fixed], minlength=costs_ns.shape[1]
    )
    solved, core_bound = solve(costs_ns[core], sizes[core], undecided[core], limits.weights, left)
    fixed_ns = float(costs_ns[fixed, memory[fixed]].sum())
    bound = max(prices.bound_ns, min(fixed_ns + core_bound, value))
    if solved is not None:
        candidate = memory.copy()
        candidate[core] = solved
        used = np.bincount(candidate, weights=sizes, minlength=costs_ns.shape[1])
        if limits.allow(used) and float(costs_ns[rows, candidate].sum()) < value:
            return Assignment(candidate, _gap(costs_ns, candidate, bound))
    if greedy is None:
        raise NearfarError(
            "no placement of whole objects fits these capacities: raise one, or allow parts of "
            "objects (--allow parts)"
        )
    return Assignment(greedy, _gap(costs_ns, greedy, bound))


def _gap(costs_ns: Array, memory: MemoryNumbers, bound: float) -> float:
    value = float(costs_ns[np.arange(len(memory)), memory].sum())
    saved = saved_ns(costs_ns, memory)
    return max(0.0, (value - bound) / saved) if saved > 0 else 0.0


def solve(
    costs_ns: Array, sizes: Array, allowed: NDArray[np.bool_], weights: Array, limits: Array
) -> tuple[MemoryNumbers | None, float]:
    """Return HiGHS' choice among `allowed` memories, None without any, and its lower bound, ns."""
    if not len(sizes):
        return (np.zeros(0, dtype=int), 0.0) if np.all(limits >= -TOLERANCE) else (None, -np.inf)
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_matrix

    objects, memories = np.nonzero(allowed)
    variables = len(objects)
    columns = np.arange(variables)
    each = csr_matrix((np.ones(variables), (objects, columns)), (len(sizes), variables))
    # Times above each object's best, in units of the greatest; bytes in units of the limits.
    base = np.where(allowed, costs_ns, np.inf).min(axis=1)
    excess = costs_ns[objects, memories] - base[objects]
    unit = float(excess.max()) or 1.0
    scale = np.maximum(np.abs(limits), 1.0)
    used = weights[:, memories] * sizes[objects] / scale[:, np.newaxis]
    constraints = [LinearConstraint(each, 1.0, 1.0)]
    if len(limits):
        constraints.append(LinearConstraint(used, -np.inf, limits / scale))
    solution, dual_bound = solve_milp(
        excess / unit,
        constraints,
        np.ones(variables, dtype=np.int64),
        time_limit_s=TIME_LIMIT_S,
        relative_gap=RELATIVE_GAP,
    )
    bound = 0.0 if dual_bound is None else float(dual_bound) * unit
    base_ns = float(base.sum())
    if solution is None:
        return None, base_ns + max(bound, 0.0)
    memory = np.zeros(len(sizes), dtype=int)
    chosen = solution > 0.5
    memory[objects[chosen]] = memories[chosen]
    return memory, base_ns + max(bound, 0.0)

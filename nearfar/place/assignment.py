"""The assignment of objects to several memories with limits: greedy, and exact to a proven gap.

This is the generalised assignment problem with few limits. Prices of the limits (see `capacity`)
give a lower bound of every choice; the gap of greedy is its distance from this bound. If all other
memories cost an object more than its best memory by more than the gap, every better choice keeps
the object in its best memory (as in `knapsack`). The solver HiGHS decides all other objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import le
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nearfar.base.errors import NearfarError
from nearfar.place.capacity import TOLERANCE, CapacityLimits, LimitPrices, price_limits
from nearfar.place.solver import solve_milp
from nearfar.predict.traffic import Array

if TYPE_CHECKING:
    from scipy.optimize import LinearConstraint

TIME_LIMIT_S = 2.5
"""Time after which HiGHS returns its best choice so far, with its gap."""

RELATIVE_GAP = 1e-6
"""Share of the saved time at which HiGHS may stop."""

MAX_GREEDY_GAP = 1e-4
"""Share of the saved time: greedy this close to the bound needs no solver, as no prediction is
that precise."""

MAX_SWEEPS = 3
"""Passes of greedy over all objects for space that is left."""

MIN_AT_ONCE = 64
"""Objects that greedy tries to place at once, at least."""

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

    Objects that lose most per byte elsewhere go first: in their second best memory or, as that may
    be as good as the best and full as well, in a later one. The best of these orders counts.
    Remaining space goes to the objects that save most time per byte there. None if some object fits
    nowhere.
    """
    rows, memories = np.arange(len(sizes)), costs_ns.shape[1]
    memory = prices.reduced_ns.argmin(axis=1)
    bytes_by_memory = np.bincount(memory, weights=sizes, minlength=memories)
    if limits.allow(bytes_by_memory):
        return _improved(costs_ns, sizes, limits, memory)
    ranks = np.argsort(prices.reduced_ns, axis=1)
    ordered = np.take_along_axis(prices.reduced_ns, ranks, axis=1)
    choices: list[MemoryNumbers] = []
    for rank in range(1, memories):
        regret = (ordered[:, rank] - ordered[:, 0]) / np.maximum(sizes, 1.0)
        filled = _filled(np.argsort(-regret, kind="stable"), ranks, sizes, limits)
        if filled is not None:
            choices.append(filled)
    best = min(choices, key=lambda choice: float(costs_ns[rows, choice].sum()), default=None)
    return None if best is None else _improved(costs_ns, sizes, limits, best)


def _filled(
    order: MemoryNumbers, ranks: MemoryNumbers, sizes: Array, limits: CapacityLimits
) -> MemoryNumbers | None:
    """Return the memory of each object of `order` in turn: the first of its ranks with space.

    None if an object fits nowhere. Many objects are placed at once, up to the first whose memory
    is full by then.
    """
    memory, by_memory = np.full(len(order), -1), np.ascontiguousarray(limits.weights.T)
    used, max_used = np.zeros(len(limits.limits)), limits.limits * (1 + TOLERANCE)
    start, count = 0, MIN_AT_ONCE
    while start < len(order):
        batch = order[start : start + count]
        needs = by_memory.take(ranks[batch], axis=0) * sizes[batch, np.newaxis, np.newaxis]
        fits = _within(used, needs, max_used)
        if not fits[0].any():
            return None
        target = fits.argmax(axis=1)
        after = used + np.cumsum(needs[np.arange(len(batch)), target], axis=0)
        possible = fits.any(axis=1) & np.all(after <= max_used, axis=1)
        placed = len(batch) if possible.all() else int(possible.argmin())
        memory[batch[:placed]] = ranks[batch[:placed], target[:placed]]
        used = after[placed - 1]
        start += placed
        count = max(MIN_AT_ONCE, 2 * placed)
    return memory


def _within(used: Array, needs: Array, max_used: Array) -> NDArray[np.bool_]:
    """Return where `needs` (..., limits) fit besides `used`; limit by limit, as there are few."""
    fits = np.ones(needs.shape[:-1], dtype=bool)
    for at in range(len(max_used)):
        fits &= used[at] + needs[..., at] <= max_used[at]
    return fits


def _improved(
    costs_ns: Array, sizes: Array, limits: CapacityLimits, memory: MemoryNumbers
) -> MemoryNumbers:
    """Move objects to faster memories with space for them, most time saved per byte first."""
    max_used = limits.limits * (1 + TOLERANCE)
    rows = np.arange(len(memory))
    for _ in range(MAX_SWEEPS):
        used = limits.weights @ np.bincount(memory, weights=sizes, minlength=costs_ns.shape[1])
        gain = costs_ns[rows, memory][:, np.newaxis] - costs_ns
        # A move that needs more of a limit than is left now never fits, so few moves remain.
        most_bytes = _most_bytes(limits, max_used * (1 + TOLERANCE) - used)[memory]
        objects, targets = np.nonzero((gain > 0) & (sizes[:, np.newaxis] <= most_bytes))
        per_byte = gain[objects, targets] / np.maximum(sizes[objects], 1.0)
        order = np.argsort(-per_byte, kind="stable")
        moves = _moves_that_fit(costs_ns, sizes, limits, memory, (objects[order], targets[order]))
        if not moves:
            break
        memory[list(moves)] = list(moves.values())
    return memory


def _most_bytes(limits: CapacityLimits, left: Array) -> Array:
    """Return how many bytes fit from one memory into another, shape (from, to).

    `left`: what each limit leaves.
    """
    added = limits.weights.T[np.newaxis] - limits.weights.T[:, np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.where(added > 0, left / added, np.inf)
    return np.asarray(most.min(axis=2, initial=np.inf))


def _moves_that_fit(
    costs_ns: Array,
    sizes: Array,
    limits: CapacityLimits,
    memory: MemoryNumbers,
    moves: tuple[MemoryNumbers, MemoryNumbers],
) -> dict[int, int]:
    """Return the moves (objects, target memories) that have space and save time, in turn.

    The loop is in numbers of Python: of arrays as short as the limits it takes six times as long.
    """
    objects, targets = moves
    used = (
        limits.weights @ np.bincount(memory, weights=sizes, minlength=costs_ns.shape[1])
    ).tolist()
    max_used = (limits.limits * (1 + TOLERANCE)).tolist()
    weights = limits.weights.T.tolist()
    rows = zip(
        *(column.tolist() for column in (objects, targets, costs_ns[objects, targets])),
        sizes[objects].tolist(),
        memory[objects].tolist(),
        strict=True,
    )
    moved: dict[int, int] = {}
    times_ns: dict[int, float] = {}
    for index, target, time_ns, size, at_first in rows:
        if time_ns >= times_ns.get(index, np.inf):
            continue
        source = moved.get(index, at_first)
        after = [
            before + (into - out) * size
            for before, into, out in zip(used, weights[target], weights[source], strict=True)
        ]
        if all(map(le, after, max_used)):
            used, moved[index], times_ns[index] = after, target, time_ns
    return moved


def assign(costs_ns: Array, sizes: Array, limits: CapacityLimits) -> Assignment:
    """Return the choice of least time that meets the limits, with a proven gap."""
    prices = price_limits(costs_ns, sizes, limits)
    greedy = greedy_assignment(costs_ns, sizes, limits, prices)
    return assign_from(costs_ns, sizes, limits, prices, greedy)


def assign_from(
    costs_ns: Array,
    sizes: Array,
    limits: CapacityLimits,
    prices: LimitPrices,
    greedy: MemoryNumbers | None,
) -> Assignment:
    """Return the same for the prices of the limits and greedy's choice."""
    rows = np.arange(len(sizes))
    value = np.inf if greedy is None else float(costs_ns[rows, greedy].sum())
    slack = value - prices.bound_ns
    if greedy is not None and slack <= MAX_GREEDY_GAP * max(saved_ns(costs_ns, greedy), 1e-300):
        return Assignment(greedy, _gap(costs_ns, greedy, prices.bound_ns))
    excess = prices.reduced_ns - prices.reduced_ns.min(axis=1, keepdims=True)
    # The margin keeps rounding errors from deciding an object; it only enlarges the core problem.
    undecided = excess <= slack + 1e-9 * abs(slack) + 1e-12 * abs(prices.bound_ns)
    has_choice = undecided.sum(axis=1) > 1
    core, fixed = np.flatnonzero(has_choice), np.flatnonzero(~has_choice)
    memory = prices.reduced_ns.argmin(axis=1)
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
    objects, memories = np.nonzero(allowed)
    # Times above each object's best, in units of the greatest.
    base = np.where(allowed, costs_ns, np.inf).min(axis=1)
    excess = costs_ns[objects, memories] - base[objects]
    unit = float(excess.max()) or 1.0
    solution, dual_bound = solve_milp(
        excess / unit,
        _constraints(objects, memories, sizes, weights, limits),
        np.ones(len(objects), dtype=np.int64),
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


def divided_assignment(costs_ns: Array, sizes: Array, weights: Array, left: Array) -> Array | None:
    """Return the shares (objects, memories) of least cost if every object may be divided.

    `weights` (limits, memories) and `left` (limits,) as in `CapacityLimits`. No more objects are
    divided than there are limits. None if nothing fits.
    """
    if not len(sizes):
        return np.zeros_like(costs_ns)
    objects, memories = np.nonzero(np.ones_like(costs_ns))
    solution, _ = solve_milp(
        (costs_ns / max(float(np.ptp(costs_ns)), 1e-300)).ravel(),
        _constraints(objects, memories, sizes, weights, left),
        np.zeros(len(objects), dtype=np.int64),
        time_limit_s=TIME_LIMIT_S,
        relative_gap=RELATIVE_GAP,
    )
    return None if solution is None else solution.reshape(costs_ns.shape)


def _constraints(
    objects: MemoryNumbers,
    memories: MemoryNumbers,
    sizes: Array,
    weights: Array,
    limits: Array,
) -> list[LinearConstraint]:
    """Return that each object is somewhere and that bytes, in units of the limits, fit.

    A variable is the share of one of `objects` in one of `memories`.
    """
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_matrix

    columns = np.arange(len(objects))
    each = csr_matrix((np.ones(len(objects)), (objects, columns)), (len(sizes), len(objects)))
    constraints = [LinearConstraint(each, 1.0, 1.0)]
    if len(limits):
        scale = np.maximum(np.abs(limits), 1.0)
        used = weights[:, memories] * sizes[objects] / scale[:, np.newaxis]
        constraints.append(LinearConstraint(used, -np.inf, limits / scale))
    return constraints

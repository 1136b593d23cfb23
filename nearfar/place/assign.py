"""Objects to several memories with limits: greedy at the price of room, and to a proven gap.

The generalised assignment problem with few limits. Prices of room (see `room_prices`) bound every
choice from below; objects that are dearer elsewhere by more than greedy is above that bound stay
where they are in every better choice (as in `knapsack`), and what remains goes to HiGHS.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.base.errors import NearfarError
from nearfar.place._silence import native_stdout_silenced
from nearfar.place.room_prices import Priced, price_rooms
from nearfar.place.rooms import TOLERANCE, Rooms
from nearfar.predict.traffic import Array

TIME_LIMIT_S = 2.5
"""After this the best choice so far is taken, with its gap."""

RELATIVE_GAP = 1e-6
"""Of the saved time; where the solver may stop."""

ENOUGH_GAP = 1e-4
"""Of the saved time: greedy so near the bound needs no solver; no prediction knows so much."""

SWEEPS = 3
"""Times that greedy goes through all objects for room that was left."""

Memory = NDArray[np.int_]
"""Of each object, the number of its memory."""


@dataclass(frozen=True, eq=False)
class Assigned:
    """A solution."""

    memory: Memory
    gap: float
    """Proven: (value - bound) / saved; saved is what the dearest memory of each would add more."""


def saved_ns(costs_ns: Array, memory: Memory) -> float:
    """Return what a choice saves over each object in its dearest memory, ns."""
    rows = np.arange(len(memory))
    return float((costs_ns.max(axis=1, initial=0.0) - costs_ns[rows, memory]).sum())


def greedy_assign(costs_ns: Array, sizes: Array, rooms: Rooms, priced: Priced) -> Memory | None:
    """Return each object where time plus the price of room is least, as long as there is room.

    Objects that lose most per byte by their second best go first. What is left of room goes to
    whom it saves most per byte. None where some object fits nowhere.
    """
    count, memories = costs_ns.shape
    two = np.sort(priced.reduced, axis=1)[:, : min(2, memories)]
    regret = (two[:, -1] - two[:, 0]) / np.maximum(sizes, 1.0)
    used = np.zeros(len(rooms.limits))
    most = rooms.limits * (1 + TOLERANCE)
    memory = priced.reduced.argmin(axis=1)
    taken = np.bincount(memory, weights=sizes, minlength=memories)
    if not rooms.hold(taken):
        ranks = np.argsort(priced.reduced, axis=1)
        memory = np.full(count, -1)
        for thing in np.argsort(-regret, kind="stable"):
            for into in ranks[thing]:
                after = used + rooms.weights[:, into] * sizes[thing]
                if np.all(after <= most):
                    memory[thing], used = into, after
                    break
            else:
                return None
    else:
        used = rooms.weights @ taken
    return _improved(costs_ns, sizes, rooms, memory, used)


def _improved(costs_ns: Array, sizes: Array, rooms: Rooms, memory: Memory, used: Array) -> Memory:
    """Move objects to where they take less time, most saved per byte first, while there is room."""
    most = rooms.limits * (1 + TOLERANCE)
    rows = np.arange(len(memory))
    for _ in range(SWEEPS):
        gain = costs_ns[rows, memory][:, np.newaxis] - costs_ns
        # What needs more of any limit than is left never fits: few remain.
        needs = rooms.weights.T[np.newaxis] - rooms.weights.T[memory][:, np.newaxis]
        fits = np.all(used + needs * sizes[:, np.newaxis, np.newaxis] <= most, axis=2)
        things, into = np.nonzero((gain > 0) & fits)
        if not len(things):
            break
        order = np.argsort(-gain[things, into] / np.maximum(sizes[things], 1.0), kind="stable")
        moved = False
        for thing, to in zip(things[order], into[order], strict=True):
            if costs_ns[thing, to] >= costs_ns[thing, memory[thing]]:
                continue
            change = rooms.weights[:, to] - rooms.weights[:, memory[thing]]
            after = used + change * sizes[thing]
            if np.all(after <= most):
                memory[thing], used, moved = to, after, True
        if not moved:
            break
    return memory


def assign(costs_ns: Array, sizes: Array, rooms: Rooms) -> Assigned:
    """Return the choice of least time that keeps the limits, with a proven gap."""
    priced = price_rooms(costs_ns, sizes, rooms)
    greedy = greedy_assign(costs_ns, sizes, rooms, priced)
    rows = np.arange(len(sizes))
    value = np.inf if greedy is None else float(costs_ns[rows, greedy].sum())
    slack = value - priced.bound
    if greedy is not None and slack <= ENOUGH_GAP * max(saved_ns(costs_ns, greedy), 1e-300):
        return Assigned(greedy, _gap(costs_ns, greedy, priced.bound))
    dearer = priced.reduced - priced.reduced.min(axis=1, keepdims=True)
    # The margin keeps rounding from deciding an object; it only makes the core larger.
    open_ = dearer <= slack + 1e-9 * abs(slack) + 1e-12 * abs(priced.bound)
    core = np.flatnonzero(open_.sum(axis=1) > 1)
    memory = priced.reduced.argmin(axis=1)
    fixed = np.setdiff1d(rows, core)
    left = rooms.limits - rooms.weights @ np.bincount(
        memory[fixed], weights=sizes[fixed], minlength=costs_ns.shape[1]
    )
    solved, core_bound = solve(costs_ns[core], sizes[core], open_[core], rooms.weights, left)
    bound = max(priced.bound, min(float(costs_ns[fixed, memory[fixed]].sum()) + core_bound, value))
    if solved is not None:
        candidate = memory.copy()
        candidate[core] = solved
        used = np.bincount(candidate, weights=sizes, minlength=costs_ns.shape[1])
        if rooms.hold(used) and float(costs_ns[rows, candidate].sum()) < value:
            return Assigned(candidate, _gap(costs_ns, candidate, bound))
    if greedy is None:
        raise NearfarError(
            "no placement of whole objects fits these capacities: raise one, or allow parts of "
            "objects (--allow parts)"
        )
    return Assigned(greedy, _gap(costs_ns, greedy, bound))


def _gap(costs_ns: Array, memory: Memory, bound: float) -> float:
    value = float(costs_ns[np.arange(len(memory)), memory].sum())
    saved = saved_ns(costs_ns, memory)
    return max(0.0, (value - bound) / saved) if saved > 0 else 0.0


def solve(
    costs_ns: Array, sizes: Array, allowed: NDArray[np.bool_], weights: Array, limits: Array
) -> tuple[Memory | None, float]:
    """Return what HiGHS chooses among `allowed` memories, None without any, and its bound, ns."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_matrix

    if not len(sizes):
        return (np.zeros(0, dtype=int), 0.0) if np.all(limits >= -TOLERANCE) else (None, -np.inf)
    things, memories = np.nonzero(allowed)
    variables = len(things)
    columns = np.arange(variables)
    each = csr_matrix((np.ones(variables), (things, columns)), (len(sizes), variables))
    # Times over each object's best, in units of the greatest; room in units of the limits.
    base = np.where(allowed, costs_ns, np.inf).min(axis=1)
    dear = costs_ns[things, memories] - base[things]
    unit = float(dear.max()) or 1.0
    scale = np.maximum(np.abs(limits), 1.0)
    taken = weights[:, memories] * sizes[things] / scale[:, np.newaxis]
    constraints = [LinearConstraint(each, 1.0, 1.0)]
    if len(limits):
        constraints.append(LinearConstraint(taken, -np.inf, limits / scale))
    with native_stdout_silenced():
        found = milp(
            dear / unit,
            constraints=constraints,
            integrality=np.ones(variables, dtype=np.int64),
            bounds=Bounds(0, 1),
            options={"time_limit": TIME_LIMIT_S, "mip_rel_gap": RELATIVE_GAP},
        )
    bound = 0.0 if found.mip_dual_bound is None else float(found.mip_dual_bound) * unit
    whole = float(base.sum())
    if found.x is None:
        return None, whole + max(bound, 0.0)
    chosen = np.zeros(len(sizes), dtype=int)
    ones = found.x > 0.5
    chosen[things[ones]] = memories[ones]
    return chosen, whole + max(bound, 0.0)

"""Parts of large objects: a share of every allocation in one memory, the rest in another.

A profile counts traffic per object, not per address. So a share of an object is taken to carry the
same share of its traffic, whichever part it is; the plan says so.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearfar.base.units import PAGE_BYTES
from nearfar.documents import WorkloadProfile
from nearfar.documents.plan import Part
from nearfar.documents.workload import MemoryObject
from nearfar.place.problem import Problem
from nearfar.place.room_prices import price_rooms
from nearfar.place.rooms import Rooms, rooms_of
from nearfar.place.search import best_of
from nearfar.predict.traffic import Array

LEAST_BYTES = 1 << 20
"""Mean allocation from which an object can be split: a boundary on a 4 KiB page is then within
0.4 % of the share that was meant."""

LEAST_SHARE = 0.01
"""A part below one per cent of an object is none."""

TINY = 1e-9
"""A share that is only rounding."""


def splittable(workload: WorkloadProfile) -> NDArray[np.bool_]:
    """Return which objects pages can be dealt out of."""
    return np.array([_splittable(thing) for thing in workload.objects], dtype=bool)


def _splittable(thing: MemoryObject) -> bool:
    if thing.kind not in ("heap", "mmap", "file"):
        return False
    each = thing.allocated_bytes / thing.allocations if thing.allocations else thing.size_bytes
    return min(each, thing.size_bytes) >= LEAST_BYTES


def with_parts(
    problem: Problem, budget_bytes: float, can_split: NDArray[np.bool_], start: Array
) -> Array | None:
    """Return `start` with room that whole objects leave filled by parts; None where none is left.

    First objects are placed anew where time plus the price of room is least, split where room
    ends; of that and of `start`, what still gains most per byte then moves over in part. With one
    limit and all objects split this is the best there is, as times add.
    """
    if not np.any(can_split) or not problem.names:
        return None
    costs, sizes = problem.costs_ns, problem.sizes_bytes
    rooms = rooms_of(problem, budget_bytes)
    priced = price_rooms(costs, sizes, rooms)
    rivals = [start] if rooms.hold(start.T @ sizes) else []
    placed = _placed(priced.reduced, sizes, rooms, can_split)
    if placed is not None:
        rivals.append(placed)
    if not rivals:
        return None
    filled = [_filled(one, costs, sizes, rooms, can_split) for one in rivals]
    best = best_of(problem, filled)
    return best if rooms.hold(best.T @ sizes) else None


def _placed(
    reduced: Array, sizes: Array, rooms: Rooms, can_split: NDArray[np.bool_]
) -> Array | None:
    """Return shares by least reduced cost, who loses most by second best first; None: no room."""
    two = np.sort(reduced, axis=1)
    regret = (two[:, min(1, two.shape[1] - 1)] - two[:, 0]) / np.maximum(sizes, 1.0)
    ranks = np.argsort(reduced, axis=1, kind="stable")
    used = np.zeros(len(rooms.limits))
    shares = np.zeros_like(reduced)
    for thing in np.argsort(-regret, kind="stable"):
        left = float(sizes[thing])
        if left == 0.0:
            shares[thing, ranks[thing, 0]] = 1.0
            continue
        for into in ranks[thing]:
            room = _room(rooms, used, rooms.weights[:, into])
            taken = left if room >= left else _piece(room, sizes[thing], can_split[thing])
            shares[thing, into] += taken / sizes[thing]
            used += rooms.weights[:, into] * taken
            left -= taken
            if left <= 0.0:
                break
        else:
            return None
    return shares


def _filled(
    start: Array, costs_ns: Array, sizes: Array, rooms: Rooms, can_split: NDArray[np.bool_]
) -> Array:
    """Move parts to where they take less time while there is room, most saved per byte first."""
    shares = start.copy()
    used = rooms.weights @ (shares.T @ sizes)
    gain = costs_ns[:, :, np.newaxis] - costs_ns[:, np.newaxis, :]
    gain = np.where((shares[:, :, np.newaxis] > 0) & can_split[:, None, None], gain, 0.0)
    things, sources, targets = np.nonzero(gain > 0)
    per_byte = gain[things, sources, targets] / np.maximum(sizes[things], 1.0)
    for at in np.argsort(-per_byte, kind="stable"):
        thing, source, target = things[at], sources[at], targets[at]
        change = rooms.weights[:, target] - rooms.weights[:, source]
        there = float(shares[thing, source] * sizes[thing])
        room = _room(rooms, used, change)
        taken = there if room >= there else _piece(room, sizes[thing], True)
        if there - taken < LEAST_SHARE * sizes[thing] and taken < there:
            continue
        shares[thing, source] -= taken / sizes[thing]
        shares[thing, target] += taken / sizes[thing]
        used += change * taken
    shares[shares < TINY] = 0.0
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _room(rooms: Rooms, used: Array, weights: Array) -> float:
    """Return bytes that may still come at these weights a byte."""
    counts = weights > 0
    left = (rooms.limits[counts] - used[counts]) / weights[counts]
    return max(0.0, float(left.min(initial=np.inf)))


def _piece(room: float, size: float, can_split: bool) -> float:
    """Return the pages of an object that a room takes; 0 where that is no part."""
    piece = float(room // PAGE_BYTES * PAGE_BYTES)
    return piece if can_split and piece >= LEAST_SHARE * size else 0.0


def parts_of(shares: Array, names: list[str], order: list[int]) -> list[Part]:
    """Return one object's parts, fastest memory first; empty where it is whole."""
    if shares.max() >= 1.0:
        return []
    return [Part(memory=names[m], share=float(shares[m])) for m in order if shares[m] > 0]

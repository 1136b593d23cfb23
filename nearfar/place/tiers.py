"""Filling memories one after another in an order of objects: what needs no prices of room."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nearfar.place.order import fill
from nearfar.place.problem import Problem
from nearfar.place.rooms import rooms_of
from nearfar.predict.traffic import Array

SCALINGS = 40
"""Halvings: to a byte of a TiB."""


def fill_tiers(
    problem: Problem, order: NDArray[np.intp], budget_bytes: float, tiers: list[int] | None = None
) -> Array:
    """Return shares with objects of `order` in the fastest memory that still has room.

    Objects that `order` leaves out come last, as they are numbered: they need room too. `tiers`:
    memories in the order in which they are filled, by default the fastest first. Near memory is
    left alone by what is not in `order`, as far as the others have room.
    """
    tiers = problem.speed_order if tiers is None else tiers
    count = len(problem.names)
    room = {0: float(budget_bytes), **dict(enumerate(problem.capacities_bytes, start=1))}
    room = _cheaper(problem, room, budget_bytes)
    memory = np.full(count, -1)
    unordered = np.setdiff1d(np.arange(count), order)
    for tier in tiers:
        for group in (order, unordered) if tier else (order,):
            waiting = group[memory[group] < 0]
            taken = fill(waiting, problem.sizes_bytes, room[tier]) > 0
            memory[taken] = tier
            room[tier] -= float(problem.sizes_bytes[taken].sum())
    return whole(settle(problem, memory, room, tiers), len(problem.fars) + 1)


def settle(
    problem: Problem, memory: NDArray[np.int_], room: dict[int, float], tiers: list[int]
) -> NDArray[np.int_]:
    """Put what is nowhere yet (-1), largest first, where most room is left."""
    for thing in sorted(np.flatnonzero(memory < 0), key=lambda i: -problem.sizes_bytes[i]):
        into = max(tiers, key=lambda tier: room[tier])
        memory[thing] = into
        room[into] -= float(problem.sizes_bytes[thing])
    return memory


def whole(memory: NDArray[np.int_], memories: int) -> Array:
    """Return the shares of objects that are each in one memory."""
    shares = np.zeros((len(memory), memories))
    shares[np.arange(len(memory)), memory] = 1.0
    return shares


def _cheaper(problem: Problem, room: dict[int, float], budget_bytes: float) -> dict[int, float]:
    """Shrink the room of all but the slowest memory until filling them keeps the price."""
    found = rooms_of(problem, budget_bytes)
    *faster, slowest = problem.speed_order

    def used(scale: float) -> Array:
        left, taken = float(problem.footprint_bytes), np.zeros(len(room))
        for tier in faster:
            taken[tier] = min(left, room[tier] * scale)
            left -= taken[tier]
        taken[slowest] = left
        return taken

    if math.isinf(problem.most_cost) or found.hold(used(1.0)):
        return room
    room = {tier: min(size, float(problem.footprint_bytes)) for tier, size in room.items()}
    low, high = 0.0, 1.0
    for _ in range(SCALINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if found.hold(used(middle)) else (low, middle)
    return {tier: size if tier == slowest else size * low for tier, size in room.items()}

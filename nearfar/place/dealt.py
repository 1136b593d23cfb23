"""Shares of pages that are dealt out between memories, within what each may hold."""

from __future__ import annotations

import numpy as np

from nearfar.place.problem import Problem
from nearfar.place.rooms import TOLERANCE
from nearfar.predict.traffic import Array


def dealt(problem: Problem, budget_bytes: float, wanted: Array) -> Array:
    """Return shares by memory nearest to `wanted` that fit, the same of every object.

    A memory that is full gives what it cannot take to the others, in proportion of `wanted`.
    """
    footprint = float(problem.footprint_bytes)
    if footprint == 0.0:
        return np.asarray(np.eye(len(wanted))[0])
    most = np.minimum(np.array([budget_bytes, *problem.capacities_bytes]) / footprint, 1.0)
    shares = np.zeros(len(wanted))
    weights = np.array(wanted, dtype=float)
    for _ in range(len(wanted) + 1):
        left = 1.0 - shares.sum()
        open_ = shares < most - TOLERANCE
        if left <= TOLERANCE or not np.any(open_):
            break
        turn = np.where(open_, weights, 0.0)
        # Where only memories have room that nobody wanted, they take the rest by their room.
        turn = turn if turn.sum() > 0 else np.where(open_, most - shares, 0.0)
        shares = np.minimum(shares + left * turn / turn.sum(), most)
    return np.asarray(shares / shares.sum())


def bandwidth_weights(problem: Problem) -> Array:
    """Return bytes per ns that each memory reads in sequence: what weighted interleave deals by."""
    return np.array([1.0 / memory.read_ns[1] for memory in problem.memories])


def of_all(problem: Problem, shares: Array) -> Array:
    """Return shares of every object."""
    return np.tile(shares, (len(problem.names), 1))

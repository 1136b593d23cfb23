"""Dealing out the pages of what bandwidth holds back, and placing the rest as before.

An object that streams faster than one memory gives is best in several at once, whichever ratio
makes them all finish together. Tried are the objects of most bytes a second, one more each time,
in a few ratios of whole numbers, all timed by the model; objects that waiting holds back stay
whole.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from nearfar.place.dealt import bandwidth_weights
from nearfar.place.order import fill, order_by_density
from nearfar.place.problem import Problem
from nearfar.place.rooms import rooms_of
from nearfar.predict.traffic import Array, misses, write_backs

NEAR_TO_FAR = ((8, 1), (6, 1), (4, 1), (3, 1), (2, 1), (3, 2), (1, 1), (2, 3), (1, 2), (1, 4))
"""Pages near to pages in all far memories, which share theirs by their bandwidths."""

MOST_OBJECTS = 8
"""Interleaved at once: a kernel's policy is set for each, and the few largest streams draw most."""

GREATEST_WEIGHT = 16
"""Whole numbers as small as hit the far memories' bandwidths within a few per cent."""

PAYS = 0.005
"""Of the time, what interleaving must save: less is below what models know."""


def interleaved(
    problem: Problem, budget_bytes: float, start: Array, can_split: NDArray[np.bool_]
) -> tuple[Array, dict[int, tuple[int, ...]]]:
    """Return shares and the objects that are dealt out, each with its weights by memory.

    Empty where nothing that is tried takes `PAYS` less time than `start`.
    """
    traffic = np.asarray(
        sum(misses(p.objects) + write_backs(p.objects) for p in problem.phases), dtype=float
    )
    heavy = np.flatnonzero(can_split & (traffic > 0))
    heavy = heavy[np.argsort(-traffic[heavy], kind="stable")][:MOST_OBJECTS]
    rooms = rooms_of(problem, budget_bytes)
    tried: list[Array] = []
    what: list[tuple[NDArray[np.intp], tuple[int, ...]]] = []
    for count in range(1, len(heavy) + 1):
        for near, far in NEAR_TO_FAR:
            weights = _weights(problem, near, far)
            shares = _with(problem, budget_bytes, start, heavy[:count], weights)
            if rooms.hold(shares.T @ problem.sizes_bytes):
                tried.append(shares)
                what.append((heavy[:count], weights))
    if not tried:
        return start, {}
    times = problem.shared_times_ns(np.stack([start, *tried]))
    best = int(np.argmin(times[1:]))
    if times[1 + best] > times[0] * (1 - PAYS):
        return start, {}
    objects, weights = what[best]
    return tried[best], {int(one): weights for one in objects}


def _weights(problem: Problem, near: int, far: int) -> tuple[int, ...]:
    """Return pages by memory, whole numbers."""
    speeds = bandwidth_weights(problem)[1:]
    if len(speeds) == 1:
        return (near, far)
    parts = [Fraction(float(s / speeds.max())).limit_denominator(4) for s in speeds]
    parts = [max(part, Fraction(1, 4)) for part in parts]
    common = sum(parts, Fraction(0))
    exact = [Fraction(near), *(far * part / common for part in parts)]
    unit = min(exact)
    return tuple(min(GREATEST_WEIGHT, max(1, round(one / unit))) for one in exact)


def _with(
    problem: Problem,
    budget_bytes: float,
    start: Array,
    objects: NDArray[np.intp],
    weights: tuple[int, ...],
) -> Array:
    """Return `start` with `objects` dealt out and near memory filled again with what fits."""
    shares = start.copy()
    shares[objects] = np.array(weights) / sum(weights)
    if len(problem.fars) > 1:
        return shares
    sizes = problem.sizes_bytes
    others = np.ones(len(sizes), dtype=bool)
    others[objects] = False
    taken = float(shares[objects, 0] @ sizes[objects])
    order = order_by_density(np.where(others, problem.added_ns, 0.0), sizes)
    near = fill(order, sizes, max(0.0, budget_bytes - taken)) if taken <= budget_bytes else 0.0
    shares[others] = problem.in_first_far(np.broadcast_to(near, sizes.shape))[others]
    return shares

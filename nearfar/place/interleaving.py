"""Interleaving: the pages of an object spread over several memories by weights.

An object that is streamed faster than one memory's bandwidth is best spread over several memories,
in the ratio at which all finish together. The search interleaves the n objects with most traffic,
for n from 1, in a few ratios of whole numbers, and the model times every try. Latency-bound objects
stay whole.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from nearfar.place.capacity import TOLERANCE, capacity_limits
from nearfar.place.filling import fill, order_by_density
from nearfar.place.problem import Problem
from nearfar.predict.traffic import Array, misses, write_backs

NEAR_TO_FAR = ((8, 1), (6, 1), (4, 1), (3, 1), (2, 1), (3, 2), (1, 1), (2, 3), (1, 2), (1, 4))
"""Ratios tried of near pages to far pages; far memories share theirs by their bandwidths."""

MAX_OBJECTS = 8
"""Most objects interleaved at once: a run sets a policy for each, and the few largest streams have
most of the traffic."""

MAX_WEIGHT = 16
"""Largest weight: whole numbers this small match the far bandwidths within a few per cent."""

MIN_SAVED_SHARE = 0.005
"""Share of the time that interleaving must save: the models are not more precise."""


def uniform_shares(problem: Problem, budget_bytes: float, weights: Array) -> Array:
    """Return shares (objects, memories), the same for every object, nearest to `weights` that fit.

    What a full memory cannot take goes to the others in proportion to their weights.
    """
    count = len(problem.names)
    footprint = float(problem.footprint_bytes)
    if footprint == 0.0:
        return np.tile(np.eye(len(weights))[0], (count, 1))
    capacities = np.array([budget_bytes, *problem.capacities_bytes])
    max_shares = np.minimum(capacities / footprint, 1.0)
    shares = np.zeros(len(weights))
    weights = np.array(weights, dtype=float)
    for _ in range(len(weights) + 1):
        left = 1.0 - shares.sum()
        not_full = shares < max_shares - TOLERANCE
        if left <= TOLERANCE or not np.any(not_full):
            break
        portions = np.where(not_full, weights, 0.0)
        if not portions.sum() > 0:
            # Only memories of weight 0 have space: they take the remainder by their free space.
            portions = np.where(not_full, max_shares - shares, 0.0)
        shares = np.minimum(shares + left * portions / portions.sum(), max_shares)
    return np.tile(shares / shares.sum(), (count, 1))


def bandwidth_weights(problem: Problem) -> Array:
    """Return each memory's sequential read bandwidth in lines per ns, for weighted interleave."""
    return np.array([1.0 / memory.read_ns[1] for memory in problem.memories])


def interleaved(
    problem: Problem, budget_bytes: float, start: Array, can_split: NDArray[np.bool_]
) -> tuple[Array, dict[int, tuple[int, ...]]]:
    """Return shares, and the weights by memory of each object that is interleaved.

    The weights are empty where no try saves `MIN_SAVED_SHARE` of the time of `start`.
    """
    traffic = np.asarray(
        sum(misses(p.objects) + write_backs(p.objects) for p in problem.phases), dtype=float
    )
    heavy = np.flatnonzero(can_split & (traffic > 0))
    heavy = heavy[np.argsort(-traffic[heavy], kind="stable")][:MAX_OBJECTS]
    limits = capacity_limits(problem, budget_bytes)
    tries: list[tuple[Array, NDArray[np.intp], tuple[int, ...]]] = []
    for count in range(1, len(heavy) + 1):
        for near, far in NEAR_TO_FAR:
            weights = _whole_weights(problem, near, far)
            shares = _with_interleaved(problem, budget_bytes, start, heavy[:count], weights)
            if limits.allow(shares.T @ problem.sizes_bytes):
                tries.append((shares, heavy[:count], weights))
    if not tries:
        return start, {}
    times = problem.shared_times_ns(np.stack([start, *(shares for shares, _, _ in tries)]))
    best = int(np.argmin(times[1:]))
    if times[1 + best] > times[0] * (1 - MIN_SAVED_SHARE):
        return start, {}
    shares, objects, weights = tries[best]
    return shares, {int(index): weights for index in objects}


def _whole_weights(problem: Problem, near: int, far: int) -> tuple[int, ...]:
    """Return pages by memory as whole numbers."""
    speeds = bandwidth_weights(problem)[1:]
    if len(speeds) == 1:
        return (near, far)
    parts = [Fraction(float(s / speeds.max())).limit_denominator(4) for s in speeds]
    parts = [max(part, Fraction(1, 4)) for part in parts]
    total = sum(parts, Fraction(0))
    exact = [Fraction(near), *(far * part / total for part in parts)]
    unit = min(exact)
    return tuple(min(MAX_WEIGHT, max(1, round(weight / unit))) for weight in exact)


def _with_interleaved(
    problem: Problem,
    budget_bytes: float,
    start: Array,
    objects: NDArray[np.intp],
    weights: tuple[int, ...],
) -> Array:
    """Return `start` with `objects` interleaved; with one far memory, near memory is refilled."""
    shares = start.copy()
    shares[objects] = np.array(weights) / sum(weights)
    if len(problem.fars) > 1:
        return shares
    sizes = problem.sizes_bytes
    others = np.ones(len(sizes), dtype=bool)
    others[objects] = False
    used = float(shares[objects, 0] @ sizes[objects])
    order = order_by_density(np.where(others, problem.added_ns, 0.0), sizes)
    near = fill(order, sizes, max(0.0, budget_bytes - used)) if used <= budget_bytes else 0.0
    shares[others] = problem.in_first_far(np.broadcast_to(near, sizes.shape))[others]
    return shares

"""Parts of large objects: a share of every allocation in one memory, the remainder in others.

A profile counts traffic per object, not per address. So a share of an object is assumed to carry
the same share of its traffic, whichever part it is; the plan states this.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, floor, inf

import numpy as np
from numpy.typing import NDArray

from nearfar.base.units import PAGE_BYTES
from nearfar.documents import WorkloadProfile
from nearfar.documents.plan import Part
from nearfar.documents.workload import MemoryObject
from nearfar.place.assignment import divided_assignment
from nearfar.place.capacity import CapacityLimits, capacity_limits, limit_prices
from nearfar.place.problem import Problem
from nearfar.place.search import best_of
from nearfar.predict.traffic import Array

MIN_SPLIT_BYTES = 256 << 10
"""Least mean allocation of an object that can be split: a boundary on a 4 KiB page is then within
0.8 % of the planned share. Also the least object whose pages can be interleaved."""

MIN_FILE_BYTES = 1 << 20
"""Least mapped file that can be split, as `nearfar run` places no smaller ones."""

MIN_PART_SHARE = 0.01
"""Least share of an object that is made a part."""

MAX_DIVIDED = 64
"""Objects that a linear programme divides: those whose second-best memory costs least more per
byte. In its solution no more objects are divided than there are limits."""

ROUNDING_SHARE = 1e-9
"""Shares below this are rounding errors."""


MAX_INTERLEAVE_WEIGHTS = 64
"""Largest sum of the weights by which pages are interleaved: `nearfar run` divides an extent into
that many pieces."""


def has_small_blocks(workload: WorkloadProfile) -> NDArray[np.bool_]:
    """Return for each object whether it has many small blocks, whose pages can be interleaved."""
    return np.array(
        [
            item.kind == "heap"
            and item.size_bytes >= MIN_SPLIT_BYTES
            and not _is_splittable(item)
            and bool(item.frames)
            for item in workload.objects
        ],
        dtype=bool,
    )


@lru_cache(maxsize=1024)
def whole_weights(shares: tuple[float, ...], *, up: bool = False) -> tuple[int, ...]:
    """Return the small whole numbers whose ratios are nearest to one object's shares.

    Near memory is scarce, so its share is rounded down; with `up` it is rounded up.
    """
    tries = []
    for total in range(1, MAX_INTERLEAVE_WEIGHTS + 1):
        near, *fars = (share * total for share in shares)
        weights = [ceil(near - ROUNDING_SHARE) if up else floor(near + ROUNDING_SHARE)]
        weights += map(floor, fars)
        # The far memories with the largest remainders take the remaining units.
        order = sorted(range(1, len(shares)), key=lambda at: weights[at] - shares[at] * total)
        for at in order[: total - sum(weights)]:
            weights[at] += 1
        errors = [abs(w / total - share) for w, share in zip(weights, shares, strict=True)]
        tries.append((round(errors[0], 12), round(sum(errors), 12), total, tuple(weights)))
    return min(tries)[-1]


def splittable(workload: WorkloadProfile) -> NDArray[np.bool_]:
    """Return for each object whether its pages can be in several memories."""
    return np.array([_is_splittable(item) for item in workload.objects], dtype=bool)


def _is_splittable(item: MemoryObject) -> bool:
    if item.kind not in ("heap", "mmap", "file"):
        return False
    each = item.allocated_bytes / item.allocations if item.allocations else item.size_bytes
    least = MIN_FILE_BYTES if item.kind == "file" else MIN_SPLIT_BYTES
    return min(each, item.size_bytes) >= least


def with_parts(
    problem: Problem, budget_bytes: float, can_split: NDArray[np.bool_], start: Array
) -> Array | None:
    """Return `start` with its free space filled with parts of objects; None if nothing fits.

    Two more starts put each object where its time plus the price of its bytes is least; one divides
    the objects for which that is equal in several memories by a linear programme, the other splits
    objects where a memory is full. From all starts, the parts that save most time per byte move to
    faster memories. The result is optimal, up to the smallest parts, if all objects can be split,
    there is space for whole pages, and times add.
    """
    if not np.any(can_split) or not problem.names:
        return None
    limits = capacity_limits(problem, budget_bytes)
    filled = list(_filled_by_price(problem, budget_bytes, can_split.tobytes()))
    if limits.allow(start.T @ problem.sizes_bytes):
        filled.insert(0, filled_up(problem, budget_bytes, can_split, start))
    if not filled:
        return None
    best = best_of(problem, filled)
    return best if limits.allow(best.T @ problem.sizes_bytes) else None


@lru_cache(maxsize=8)
def _filled_by_price(problem: Problem, budget_bytes: float, can_split: bytes) -> tuple[Array, ...]:
    """Return the starts by price that fit, filled up; cached, as all starts of a plan need them.

    `can_split`: one byte per object, 0 or 1.
    """
    limits = capacity_limits(problem, budget_bytes)
    reduced_ns = limit_prices(problem, budget_bytes).reduced_ns
    divides = np.frombuffer(can_split, dtype=bool)
    starts = (
        _split_by_price(problem, reduced_ns, limits, divides, most_divided)
        for most_divided in (MAX_DIVIDED, 0)
    )
    filled = tuple(
        filled_up(problem, budget_bytes, divides, start) for start in starts if start is not None
    )
    for shares in filled:
        shares.setflags(write=False)
    return filled


def _split_by_price(
    problem: Problem,
    reduced: Array,
    limits: CapacityLimits,
    can_split: NDArray[np.bool_],
    most_divided: int,
) -> Array | None:
    """Return shares by least reduced cost, greatest regret first; None if space is too small.

    A linear programme divides the last `most_divided` objects that can be split.
    """
    sizes = problem.sizes_bytes
    ordered = np.sort(reduced, axis=1)
    regret = ordered[:, min(1, ordered.shape[1] - 1)] - ordered[:, 0]
    ranks = np.argsort(reduced, axis=1, kind="stable")
    order = np.argsort(-regret / np.maximum(sizes, 1.0), kind="stable")
    divisible = order[can_split[order] & (sizes[order] > 0)]
    nearest = divisible[max(len(divisible) - most_divided, 0) :]
    order = order[~np.isin(order, nearest)]
    # As many as fit go to their best memories at once, the rest one by one.
    first = ranks[order, 0]
    used = np.cumsum(limits.weights.T[first] * sizes[order, np.newaxis], axis=0)
    whole = int(np.append((used <= limits.limits).all(axis=1), False).argmin())
    shares = np.zeros_like(reduced)
    shares[order[:whole], first[:whole]] = 1.0
    space = _Space(limits, used[whole - 1] if whole else np.zeros(len(limits.limits)))
    for index in order[whole:].tolist():
        if not space.fill(shares[index], ranks[index].tolist(), sizes[index], can_split[index]):
            return None
    wanted = divided_assignment(
        problem.costs_ns[nearest], sizes[nearest], limits.weights, space.left()
    )
    if wanted is None:
        return None
    wanted[wanted < MIN_PART_SHARE] = 0.0
    # Parts are whole pages, so the slowest memory of each object takes up to a page more: objects
    # whose slowest memory is fast, and so perhaps full, go first.
    by_speed = np.array(problem.speed_order)
    slowest = (wanted[:, by_speed] > 0).cumsum(axis=1).argmax(axis=1)
    for at in np.argsort(slowest, kind="stable").tolist():
        index, size = nearest[at], float(sizes[nearest[at]])
        for memory in by_speed[: slowest[at]].tolist():
            space.fill(shares[index], [memory], size, True, float(wanted[at, memory]) * size)
        others = [by_speed[slowest[at]], *by_speed[: slowest[at]], *by_speed[slowest[at] + 1 :]]
        if not space.fill(shares[index], [int(memory) for memory in others], size, True):
            return None
    return shares


def filled_up(
    problem: Problem, budget_bytes: float, can_split: NDArray[np.bool_], start: Array
) -> Array:
    """Move parts to faster memories while there is space, most time saved per byte first."""
    costs_ns, sizes = problem.costs_ns, problem.sizes_bytes
    limits = capacity_limits(problem, budget_bytes)
    shares = start.copy()
    space = _Space(limits, limits.weights @ (shares.T @ sizes))
    changes = [[_terms(into - out) for into in limits.weights.T] for out in limits.weights.T]
    gain = costs_ns[:, :, np.newaxis] - costs_ns[:, np.newaxis, :]
    gain = np.where((shares[:, :, np.newaxis] > 0) & can_split[:, None, None], gain, 0.0)
    objects, sources, targets = np.nonzero(gain > 0)
    per_byte = gain[objects, sources, targets] / np.maximum(sizes[objects], 1.0)
    order = np.argsort(-per_byte, kind="stable")
    rows = zip(
        *(column[order].tolist() for column in (objects, sources, targets, sizes[objects])),
        strict=True,
    )
    # Most moves find no space; it is the same for all of a direction until one does.
    free_bytes: dict[tuple[int, int], float] = {}
    for index, source, target, whole in rows:
        free = free_bytes.get((source, target))
        if free is None:
            free = free_bytes[source, target] = space.free_bytes(changes[source][target])
        available = float(shares[index, source]) * whole
        size = available if free >= available else _part_bytes(free, whole, True)
        if size == 0.0 or (available - size < MIN_PART_SHARE * whole and size < available):
            continue
        shares[index, source] -= size / whole
        shares[index, target] += size / whole
        space.take(changes[source][target], size)
        free_bytes.clear()
    shares[shares < ROUNDING_SHARE] = 0.0
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


Terms = list[tuple[int, float]]
"""The limits that a byte counts in, with its weight."""


class _Space:
    """The bytes that limits leave.

    In numbers of Python: arrays as short as the limits take ten times as long.
    """

    def __init__(self, limits: CapacityLimits, used: Array) -> None:
        self._limits: list[float] = limits.limits.tolist()
        self._used: list[float] = used.tolist()
        self._terms = [_terms(weights) for weights in limits.weights.T]

    def free_bytes(self, terms: Terms) -> float:
        """Return how many more bytes of these terms fit."""
        limits, used, free = self._limits, self._used, inf
        for at, weight in terms:
            if weight > 0.0:
                free = min(free, (limits[at] - used[at]) / weight)
        return max(0.0, free)

    def left(self) -> Array:
        """Return what each limit leaves."""
        free = [limit - used for limit, used in zip(self._limits, self._used, strict=True)]
        return np.asarray(np.maximum(free, 0.0))

    def take(self, terms: Terms, size: float) -> None:
        """Use so many bytes."""
        for at, weight in terms:
            self._used[at] += weight * size

    def fill(
        self, shares: Array, memories: list[int], size: float, divides: bool, most: float = inf
    ) -> bool:
        """Add what is left of an object to its shares, in turn where there is space.

        Return whether all of it has a memory. `most`: bytes to add; what is less than all is whole
        pages.
        """
        left = float(size * (1.0 - shares.sum()))
        for memory in memories:
            free = min(self.free_bytes(self._terms[memory]), most)
            part = left if free >= left else _part_bytes(free, size, divides)
            shares[memory] += part / size if size else 1.0
            self.take(self._terms[memory], part)
            left -= part
            if left <= ROUNDING_SHARE * size:
                return True
        return False


def _terms(weights: Array) -> Terms:
    return [(at, weight) for at, weight in enumerate(weights.tolist()) if weight != 0.0]


def _part_bytes(free: float, size: float, can_split: bool) -> float:
    """Return the bytes of an object's pages that fit in `free`; 0 if too few for a part."""
    part = float(free // PAGE_BYTES * PAGE_BYTES)
    return part if can_split and part >= MIN_PART_SHARE * size else 0.0


def parts_of_ranges(
    rows: Sequence[tuple[float, float, float, Array]], names: list[str], order: list[int]
) -> list[Part]:
    """Return the ranges of one object by position; neighbours in one memory are one range.

    `rows`: begin, end and bytes of each range, and its shares by memory.
    """
    parts: list[Part] = []
    total = sum(size for _, _, size, _ in rows)
    at = 0
    for begin, end, size, shares in rows:
        used = 0.0
        for memory in order:
            if shares[memory] <= 0.0:
                continue
            used += float(shares[memory])
            until = begin + used * (end - begin)
            # Boundaries between memories are page boundaries.
            until = end if end - until < PAGE_BYTES else round(until / PAGE_BYTES) * PAGE_BYTES
            share = float(shares[memory]) * size / total
            if parts and parts[-1].memory == names[memory]:
                parts[-1].share += share
                parts[-1].end_bytes = int(until)
            else:
                parts.append(
                    Part(memory=names[memory], share=share, begin_bytes=at, end_bytes=int(until))
                )
            at = int(until)
    return parts if len(parts) > 1 else []


def parts_of(shares: Array, names: list[str], order: list[int]) -> list[Part]:
    """Return one object's parts, fastest memory first; empty if the object is whole."""
    if shares.max() >= 1.0:
        return []
    return [Part(memory=names[m], share=float(shares[m])) for m in order if shares[m] > 0]

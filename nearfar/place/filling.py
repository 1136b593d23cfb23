"""Orders of objects by benefit per byte, and filling one or several memories in an order."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nearfar.place.capacity import capacity_limits
from nearfar.place.problem import Problem
from nearfar.predict.traffic import Array

Order = NDArray[np.intp]

MAX_HALVINGS = 40
"""Halvings of the scale of capacities: a TiB to the byte."""


def order_by_density(benefit: Array, sizes_bytes: Array) -> Order:
    """Return object numbers by benefit per byte, greatest first, without those of no benefit.

    Objects of no size with a benefit come first; equal ones keep the profile's order.
    """
    useful = np.flatnonzero(benefit > 0)
    density = benefit[useful] / np.maximum(sizes_bytes[useful], 1e-9)
    return np.asarray(useful[np.argsort(-density, kind="stable")])


def greedy_order(problem: Problem) -> Order:
    """Return objects by saved time per byte, greatest first."""
    return order_by_density(problem.added_ns, problem.sizes_bytes)


def fill(order: Order, sizes_bytes: Array, budget_bytes: float) -> Array:
    """Return near shares: the objects of `order` go near in turn, except those that do not fit."""
    near = np.zeros(len(sizes_bytes))
    free = float(budget_bytes)
    # Runs of objects that fit are placed at once: an order of 10,000 objects is a few steps.
    sizes = sizes_bytes[order]
    start = 0
    while start < len(order):
        count = int(np.searchsorted(np.cumsum(sizes[start:]), free, side="right"))
        near[order[start : start + count]] = 1.0
        free -= float(sizes[start : start + count].sum())
        fits = np.flatnonzero(sizes[start + count :] <= free)
        if fits.size == 0:
            break
        start += count + int(fits[0])
    return near


def single_best(problem: Problem, budget_bytes: float) -> Array:
    """Return near shares with only the most beneficial object that fits."""
    near = np.zeros(len(problem.names))
    benefit = np.where(problem.sizes_bytes <= budget_bytes, problem.added_ns, 0.0)
    if not len(benefit):
        return benefit
    best = int(np.argmax(benefit))
    if benefit[best] > 0:
        near[best] = 1.0
    return near


def fill_memories(
    problem: Problem, order: Order, budget_bytes: float, memories: list[int] | None = None
) -> Array:
    """Return shares with each object of `order` in the first memory that has space for it.

    `memories` are filled in the order given, by default the fastest first. Objects that are not in
    `order` come last, by number, and avoid near memory as long as the far memories have space.
    """
    memories = problem.speed_order if memories is None else memories
    count = len(problem.names)
    free = {0: float(budget_bytes), **dict(enumerate(problem.capacities_bytes, start=1))}
    free = _within_price(problem, free, budget_bytes)
    memory_of = np.full(count, -1)
    is_ordered = np.zeros(count, dtype=bool)
    is_ordered[order] = True
    unordered = np.flatnonzero(~is_ordered)
    for memory in memories:
        for group in (order, unordered) if memory else (order,):
            waiting = group[memory_of[group] < 0]
            placed = fill(waiting, problem.sizes_bytes, free[memory]) > 0
            memory_of[placed] = memory
            free[memory] -= float(problem.sizes_bytes[placed].sum())
    # Objects that fit nowhere go to the memory with most space left, largest objects first.
    for index in sorted(np.flatnonzero(memory_of < 0), key=lambda i: -problem.sizes_bytes[i]):
        freest = max(memories, key=lambda memory: free[memory])
        memory_of[index] = freest
        free[freest] -= float(problem.sizes_bytes[index])
    return whole_shares(memory_of, len(problem.fars) + 1)


def whole_shares(memory_of: NDArray[np.int_], memories: int) -> Array:
    """Return the shares of objects that are each in one memory."""
    shares = np.zeros((len(memory_of), memories))
    shares[np.arange(len(memory_of)), memory_of] = 1.0
    return shares


def _within_price(
    problem: Problem, free: dict[int, float], budget_bytes: float
) -> dict[int, float]:
    """Return `free`, with all memories but the slowest scaled down to meet the price limit."""
    limits = capacity_limits(problem, budget_bytes)
    *faster, slowest = problem.speed_order

    def used_bytes(scale: float) -> Array:
        left, used = float(problem.footprint_bytes), np.zeros(len(free))
        for memory in faster:
            used[memory] = min(left, free[memory] * scale)
            left -= used[memory]
        used[slowest] = left
        return used

    if math.isinf(problem.max_cost) or limits.allow(used_bytes(1.0)):
        return free
    free = {memory: min(size, float(problem.footprint_bytes)) for memory, size in free.items()}
    low, high = 0.0, 1.0
    for _ in range(MAX_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if limits.allow(used_bytes(middle)) else (low, middle)
    return {memory: size if memory == slowest else size * low for memory, size in free.items()}

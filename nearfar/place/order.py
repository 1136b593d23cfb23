"""Orders by benefit per byte, and filling a budget in an order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearfar.place.problem import Problem
from nearfar.predict.traffic import Array

Order = NDArray[np.intp]


def order_by_density(benefit: Array, sizes_bytes: Array) -> Order:
    """Return object numbers by benefit per byte, greatest first; those without benefit left out.

    Objects of no size with a benefit come first; equals keep the profile's order.
    """
    useful = np.flatnonzero(benefit > 0)
    density = benefit[useful] / np.maximum(sizes_bytes[useful], 1e-9)
    return np.asarray(useful[np.argsort(-density, kind="stable")])


def greedy_order(problem: Problem) -> Order:
    """Return objects by saved time per byte, greatest first."""
    return order_by_density(problem.added_ns, problem.sizes_bytes)


def fill(order: Order, sizes_bytes: Array, budget_bytes: float) -> Array:
    """Return the shares when objects are taken in `order`, skipping those that do not fit."""
    near = np.zeros(len(sizes_bytes))
    room = float(budget_bytes)
    # Whole stretches that fit are taken at once: an order of 10,000 objects is a few steps.
    sizes = sizes_bytes[order]
    start = 0
    while start < len(order):
        taken = int(np.searchsorted(np.cumsum(sizes[start:]), room, side="right"))
        near[order[start : start + taken]] = 1.0
        room -= float(sizes[start : start + taken].sum())
        fits = np.flatnonzero(sizes[start + taken :] <= room)
        if fits.size == 0:
            break
        start += taken + int(fits[0])
    return near


def single_best(problem: Problem, budget_bytes: int) -> Array:
    """Return the shares with only the most beneficial object that fits near."""
    near = np.zeros(len(problem.names))
    benefit = np.where(problem.sizes_bytes <= budget_bytes, problem.added_ns, 0.0)
    if not len(benefit):
        return benefit
    best = int(np.argmax(benefit))
    if benefit[best] > 0:
        near[best] = 1.0
    return near

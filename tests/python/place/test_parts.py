"""Shares by price: those that fit at once are the same as one object after the other."""

from __future__ import annotations

import numpy as np
import pytest

from nearfar.base.units import PAGE_BYTES
from nearfar.place.capacity import CapacityLimits
from nearfar.place.parts import MIN_PART_SHARE, _split_by_price


def one_by_one(
    reduced: np.ndarray, sizes: np.ndarray, limits: np.ndarray, can_split: np.ndarray
) -> np.ndarray | None:
    """Return the shares where each limit is a memory's capacity."""
    ordered = np.sort(reduced, axis=1)
    order = np.argsort(-(ordered[:, 1] - ordered[:, 0]) / np.maximum(sizes, 1.0), kind="stable")
    shares, free = np.zeros_like(reduced), limits.copy()
    for at in order:
        left = sizes[at]
        for memory in np.argsort(reduced[at], kind="stable"):
            part = left
            if free[memory] < left:
                part = free[memory] // PAGE_BYTES * PAGE_BYTES
                if not can_split[at] or part < MIN_PART_SHARE * sizes[at]:
                    part = 0.0
            shares[at, memory] += part / sizes[at]
            free[memory] -= part
            left -= part
            if left <= 0.0:
                break
        else:
            return None
    return shares


@pytest.mark.parametrize("space", [0.3, 0.6, 1.0, 3.0])
def test_many_at_once_are_the_same_as_one_by_one(space: float) -> None:
    found = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        count = int(random.integers(1, 40))
        reduced = random.uniform(0.0, 1e9, (count, 3))
        sizes = random.integers(1, 500, count) * 3000.0
        can_split = random.random(count) < 0.6
        most = np.floor(sizes.sum() * space * random.uniform(0.5, 1.5, 3))
        expected = one_by_one(reduced, sizes, most, can_split)
        shares = _split_by_price(reduced, sizes, CapacityLimits(np.eye(3), most), can_split)
        assert (shares is None) == (expected is None)
        if shares is not None:
            found += 1
            np.testing.assert_array_equal(shares, expected)
    assert found >= (0 if space < 0.5 else 10)

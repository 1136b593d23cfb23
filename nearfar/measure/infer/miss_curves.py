"""Share of accesses that a level misses, by how many times its capacity the region has.

A chase visits every block of its region once in a cycle, in random order.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

POWERS = (1.0, 1.4, 2.0, 2.8, 4.0, 8.0, 16.0, 64.0)
"""From blocks of many lines visited in random order (1: what is resident is hit) to LRU's cliff."""


def power_misses(ratio: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    """Return 1 - ratio^-power beyond the capacity, 0 within: knees from soft to a cliff."""
    return 1.0 - np.maximum(ratio, 1.0) ** -power


def lru_misses(ratio: NDArray[np.float64], ways: float) -> NDArray[np.float64]:
    """Return the misses of LRU sets when a region fills them evenly.

    Beyond the capacity the sets that hold one block too many miss always: a ramp that is full where
    every set has one, at 1 + 1/ways.
    """
    over = np.maximum(ratio - 1.0, 0.0) * ways
    # Each set that is over has ways + 1 blocks, all of them missed.
    return np.where(ratio > 1.0, np.minimum(over * (1 + 1 / ways) / ratio, 1.0), 0.0)


@cache
def _random_table() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (ratio, misses) of random replacement, from misses to the ratio that gives them.

    Between two visits of a block there are `ratio` x capacity accesses, of which the share m
    misses and evicts one block in `capacity` each: hits h = exp(-m ratio), m = 1 - h.
    """
    misses = np.linspace(1e-6, 1 - 1e-9, 4000)
    return -np.log1p(-misses) / misses, misses


def random_misses(ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the misses of random replacement in a cycle: soft, twice the excess at first."""
    ratios, misses = _random_table()
    return np.where(ratio > 1.0, np.interp(ratio, ratios, misses), 0.0)

"""Where latency and drawn bandwidth agree on a memory's loaded-latency curve.

More latency means more time, more time draws less bandwidth, less bandwidth means less latency: the
factor over idle latency that the curve answers, `loaded`, falls as the one it is asked with rises.
So they cross once, between idle and what the curve answers idle, and the crossing is no farther
from any factor than the curve's answer is: that says when to stop. Found by false position, halved
every third time; what falls over many placements at once takes as many looks as its worst one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nearfar.predict.traffic import Array

ENOUGH = 1e-7
"""Of the range of factors: far below any figure's error."""
MOST_STEPS = 50
"""A third of them halve the range: to `ENOUGH`, were false position of no help at all."""
NOTHING = 1e-300
"""Keeps quotients of nothing finite."""


def settled(loaded: Callable[[float], float], greatest: float) -> float:
    """Return the factor, 1..`greatest`, that `loaded` answers with itself."""
    enough = ENOUGH * (greatest - 1.0)
    low, over = 1.0, loaded(1.0) - 1.0
    if over <= enough:
        return low
    at = high = low + over
    under = loaded(high) - high
    for step in range(MOST_STEPS):
        middle = step % 3 == 2
        at = (low + high) / 2 if middle else low + (high - low) * over / (over - under)
        off = loaded(at) - at
        if abs(off) <= enough:
            break
        if off > 0.0:
            low, over = at, off
        else:
            high, under = at, off
    return at


def all_settled(loaded: Callable[[Array], Array], greatest: float, shape: tuple[int, ...]) -> Array:
    """Return the same for many at once."""
    enough = ENOUGH * (greatest - 1.0)
    low = np.ones(shape)
    over = loaded(low) - low
    if np.max(over, initial=0.0) <= enough:
        return low
    at = high = low + over
    under = loaded(high) - high
    for step in range(MOST_STEPS):
        middle = step % 3 == 2
        way = 0.5 if middle else over / np.maximum(over - under, NOTHING)
        at = low + (high - low) * way
        off = loaded(at) - at
        if np.max(np.abs(off), initial=0.0) <= enough:
            break
        above = off > 0.0
        low, over = np.where(above, at, low), np.where(above, off, over)
        high, under = np.where(above, high, at), np.where(above, under, off)
    return np.asarray(at)

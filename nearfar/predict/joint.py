"""What groups of threads get of memories that share their channels.

Two laws, both of published and measured scaling curves:

- One memory: a group that would draw D alone without limit gets B = (D^-p + C^-p)^(-1/p), where C
  is the capacity and p how sharp the knee is.
- Several groups on the same channels: the channels' use u is the sum of what each group draws over
  its capacity. Demands add before the same law limits them, and every group then waits equally
  long for the channels: a thread that alone takes 1/b a byte takes 1/b + w / C with all running.
  So a thread that asks for more gets more, and none gets what it would alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEPS = 100
"""Halvings of the waiting time: to the last digit of a double."""


@dataclass(frozen=True)
class Scaling:
    """How one memory's bandwidth grows with the threads that draw it. GB/s."""

    one_thread: float
    capacity: float
    sharpness: float

    def at(self, threads: Array | float) -> Array:
        """Return the bandwidth of so many threads."""
        return limited(np.asarray(threads, dtype=float) * self.one_thread, self)


@dataclass(frozen=True)
class ThreadGroup:
    """Threads that do the same."""

    threads: float
    scaling: Scaling


def limited(demand: Array | float, scaling: Scaling) -> Array:
    """Return what is drawn of `demand` GB/s."""
    asked = np.asarray(demand, dtype=float)
    p = scaling.sharpness
    with np.errstate(divide="ignore"):
        drawn = (asked**-p + scaling.capacity**-p) ** (-1.0 / p)
    return np.asarray(np.where(asked > 0, drawn, 0.0))


def shared_bandwidth(groups: Sequence[ThreadGroup]) -> list[float]:
    """Return what each group draws, GB/s, while all run on the same channels."""
    running = [group for group in groups if group.threads > 0]
    if not running:
        return [0.0 for _ in groups]
    asked = [group.threads * group.scaling.one_thread / group.scaling.capacity for group in running]
    demand = sum(asked)
    sharpness = (
        sum(a * group.scaling.sharpness for a, group in zip(asked, running, strict=True)) / demand
    )
    use = (demand**-sharpness + 1.0) ** (-1.0 / sharpness)
    waiting = _common_waiting(running, use)
    return [_drawn(group, waiting) for group in groups]


def mixed_scaling(first: Scaling, second: Scaling, share: float = 0.5) -> Scaling:
    """Return the scaling of work of which `share` of the bytes are moved by `second`.

    Times of a byte add, alone and at capacity alike; so the harmonic mean of both.
    """
    return Scaling(
        one_thread=1.0 / ((1.0 - share) / first.one_thread + share / second.one_thread),
        capacity=1.0 / ((1.0 - share) / first.capacity + share / second.capacity),
        sharpness=(1.0 - share) * first.sharpness + share * second.sharpness,
    )


def fit_scaling(threads: Array, gb_per_s: Array) -> Scaling:
    """Fit capacity and sharpness to a scaling curve whose first point is one thread's.

    Least squares of logarithms with a loss that single outliers do not rule (soft L1 beyond
    2 %). Raises ValueError without a point of one thread and two more.
    """
    from scipy.optimize import least_squares

    if len(threads) < 3 or threads[0] != 1:
        raise ValueError("a scaling curve needs one thread's point and at least two more")
    one = float(gb_per_s[0])
    best = float(np.max(gb_per_s))

    def residuals(logs: Array) -> Array:
        scaling = Scaling(one, float(np.exp(logs[0])), float(np.exp(logs[1])))
        return np.asarray(np.log(scaling.at(threads) / gb_per_s))

    # Ten times the best seen: a curve that has not bent yet says no more of its capacity.
    bounds = ([np.log(best), np.log(0.5)], [np.log(10 * best), np.log(50.0)])
    found = least_squares(
        residuals,
        [np.log(1.1 * best), np.log(2.5)],
        bounds=bounds,
        loss="soft_l1",
        f_scale=0.02,
    )
    return Scaling(one, float(np.exp(found.x[0])), float(np.exp(found.x[1])))


def _drawn(group: ThreadGroup, waiting: float) -> float:
    if group.threads <= 0:
        return 0.0
    return group.threads / (1.0 / group.scaling.one_thread + waiting / group.scaling.capacity)


def _common_waiting(groups: Sequence[ThreadGroup], use: float) -> float:
    """Return the waiting w at which the channels' use is `use`; it falls as w grows."""
    low, high = 0.0, 1.0
    while sum(_drawn(group, high) / group.scaling.capacity for group in groups) > use:
        high *= 2.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        found = sum(_drawn(group, middle) / group.scaling.capacity for group in groups)
        low, high = (middle, high) if found > use else (low, middle)
    return (low + high) / 2

"""Interleave from bandwidth over strides: a stride that skips devices has their bandwidth not.

Addresses go round over N devices every g bytes; accesses `stride` apart touch N / gcd(N, stride/g)
of them. Bandwidth that rises with the devices touched, and is the same wherever as many are, gives
g and N away; anything smooth in the stride (pages, rows, prefetching) does not look like it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from nearfar.measure.infer.levels import MISFIT

if TYPE_CHECKING:
    from numpy.typing import NDArray

GRANULARITIES = tuple(1 << bits for bits in range(8, 17))
"""256 B (CXL's smallest) to 64 KiB."""

MOST_DEVICES = 16

LEAST_CONTRAST = 1.3
"""Most over least bandwidth; with fewer devices touched it must fall visibly."""

EXPLAINED = 0.85
"""Share of the variance of log bandwidth that devices touched must explain."""

ALIKE = 6.0
"""Chi-square from which one explanation is better than another: odds of 20 to 1."""

CLEARLY = 3.0
"""Times that chi-square of the next best explanation must be larger."""


@dataclass(frozen=True)
class InterleaveFit:
    """Granularity and number of devices; None: none, and why."""

    granularity_bytes: int | None
    devices: int | None
    why_not: str = ""
    fitted: NDArray[np.float64] | None = None


@cache
def touched(stride_bytes: int, granularity_bytes: int, devices: int) -> float:
    """Return how many devices accesses `stride_bytes` apart keep busy.

    One over the share of the busiest; N / gcd(N, stride/g) where the stride is a multiple of g.
    """
    step = np.gcd(stride_bytes, granularity_bytes * devices)
    repeat = granularity_bytes * devices // step
    at = (np.arange(repeat, dtype=np.int64) * stride_bytes) // granularity_bytes % devices
    return float(repeat / np.bincount(at).max())


def find_interleave(
    strides: NDArray[np.int64], gb_per_s: NDArray[np.float64], noise: float
) -> InterleaveFit:
    """Return the interleave that bandwidth over strides (ascending) shows."""
    level = np.log(gb_per_s)
    sigma = max(noise, MISFIT)
    spread = float(((level - level.mean()) ** 2).sum())
    if gb_per_s.max() < LEAST_CONTRAST * gb_per_s.min():
        return InterleaveFit(None, None, "bandwidth is the same at every stride")
    explained: list[tuple[float, int, int, NDArray[np.float64]]] = []
    for granularity in GRANULARITIES:
        for devices in range(2, MOST_DEVICES + 1):
            counts = np.array([touched(int(one), granularity, devices) for one in strides]).round(3)
            if len(set(counts.tolist())) < 2:
                continue
            fitted = _by_count(level, counts)
            # A penalty for each mean, as of BIC.
            cost = float(((level - fitted) ** 2).sum()) / sigma**2
            cost += len(set(counts.tolist())) * np.log(len(strides))
            explained.append((cost, granularity, devices, fitted))
    if not explained:
        return InterleaveFit(None, None, "too few strides were measured")
    least = min(one[0] for one in explained)
    # Twice as many devices of half the granularity look nearly alike: the fewest that explain.
    cost, granularity, devices, fitted = min(
        (one for one in explained if one[0] <= least + ALIKE), key=lambda one: (one[2], one[0])
    )
    residual = float(((level - fitted) ** 2).sum())
    if residual > (1 - EXPLAINED) * spread:
        return InterleaveFit(None, None, "no number of devices explains bandwidth over strides")
    if np.exp(np.ptp(fitted)) < LEAST_CONTRAST:
        return InterleaveFit(None, None, "bandwidth hardly depends on the devices touched")
    smooth = min(_isotonic_error(level), _isotonic_error(-level)) / sigma**2
    if smooth < CLEARLY * cost:
        return InterleaveFit(None, None, "bandwidth changes smoothly with the stride")
    return InterleaveFit(granularity, devices, "", np.exp(fitted))


def _by_count(level: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of each count, made to rise with the count."""
    from scipy.optimize import isotonic_regression

    distinct, place, weights = np.unique(counts, return_inverse=True, return_counts=True)
    means = np.array([level[place == index].mean() for index in range(len(distinct))])
    return np.asarray(isotonic_regression(means, weights=weights).x)[place]


def _isotonic_error(level: NDArray[np.float64]) -> float:
    from scipy.optimize import isotonic_regression

    return float(((level - isotonic_regression(level).x) ** 2).sum())

"""Slowdowns between runs, with bootstrap intervals: of one pair, and geometric means of several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from nearfar.base.estimate import Estimate

RESAMPLES = 10_000
"""Resamples of the published comparison of sets (Bastelli et al., WSCAD 2022, section 4.1)."""

CONFIDENCE = 0.95

Pair = tuple[Sequence[float], Sequence[float]]
"""Throughputs of the baseline's runs, and of the runs that are slower than it."""


def slowdown(baseline: Sequence[float], slower: Sequence[float], seed: int = 0) -> Estimate:
    """Return mean throughput of `baseline` over that of `slower`, with its 95 % interval."""
    return geometric_mean_slowdown([(baseline, slower)], seed)


def geometric_mean_slowdown(pairs: Sequence[Pair], seed: int = 0) -> Estimate:
    """Return the geometric mean of the slowdowns of `pairs`, with its 95 % interval.

    Every group of runs is resampled separately (percentile bootstrap): the interval covers how runs
    vary, not the choice of structures.
    """
    if not pairs or any(len(runs) == 0 for pair in pairs for runs in pair):
        raise ValueError("no runs")
    groups = [np.asarray(runs, dtype=float) for pair in pairs for runs in pair]

    def mean_slowdown(*samples: np.ndarray, axis: int = -1) -> np.ndarray:
        logs = [np.log(np.mean(sample, axis=axis)) for sample in samples]
        return np.asarray(np.exp((sum(logs[0::2]) - sum(logs[1::2])) / len(pairs)))

    value = float(mean_slowdown(*groups))
    if any(group.size < 2 for group in groups):
        return Estimate(value, value, value)
    interval = stats.bootstrap(
        groups,
        mean_slowdown,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Estimate(value, min(float(interval.low), value), max(float(interval.high), value))

"""The difference of two values: its interval by bootstrap and its p value."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from nearfar.compare.kind import Z95, ComparedValue

ALPHA = 0.05
"""Corrected p value below which a difference counts."""

RESAMPLES = 4000
"""Bootstrap resamples: with more, the 95 % ends of a ratio of medians of 20 values move < 0.1 %."""

MIN_REPETITIONS = 3
"""Least repetitions on each side for a judgement: with two, Student's test has so few degrees of
freedom that, if many values are compared, a difference must be hundreds of standard errors."""

MIN_HALF_REPETITIONS = 4
"""Repetitions in half a side from which halves are compared: with three and three, the smallest p
of ranks is 10 %."""

MAX_LOG_CHANGE = 700.0
"""Largest logarithm of a change whose exponential is a finite number."""

MAX_DRIFT_P = 0.01
"""p value below which the halves of a side's runs count as different; 1 in 100 steady sides
does."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ValueDifference:
    """B against A."""

    change: float | None
    low: float | None
    high: float | None
    p: float | None
    note: str = ""
    undetectable: float | None = None
    """For repetitions: a change of this size is missed in about half the cases."""


def difference(a: ComparedValue, b: ComparedValue, together: int = 1) -> ValueDifference:
    """Return the relative difference of two values, its interval, and its p value.

    `together` is the number of p values that are corrected together, this one included.
    """
    scale = a.value if a.total is None else a.total
    change = (b.value - a.value) / abs(scale) if scale else None
    if a.samples and b.samples:
        return _difference_of_samples(a, b, change, together)
    if a.sigma is None or b.sigma is None:
        return ValueDifference(change, None, None, None, a.note or "its spread is unknown")
    return _difference_of_errors(a, b, change, scale)


def _difference_of_samples(
    a: ComparedValue, b: ComparedValue, change: float | None, together: int
) -> ValueDifference:
    first, second = np.asarray(a.samples, dtype=float), np.asarray(b.samples, dtype=float)
    repetitions = min(len(first), len(second))
    if repetitions < MIN_REPETITIONS:
        note = (
            f"{repetitions} repetitions are too few to distinguish a change from chance: each "
            f"document needs {MIN_REPETITIONS} or more"
        )
        return ValueDifference(change, None, None, None, note)
    if np.ptp(first) == 0.0 and np.ptp(second) == 0.0:
        return ValueDifference(change, change, change, float(first[0] == second[0]))
    p = p_value(first, second, together)
    if change is None or np.median(first) <= 0:
        return ValueDifference(None, None, None, p)
    low, high = ratio_interval(first, second)
    undetectable = _half_detectable_change(first, second, together)
    return ValueDifference(
        change, low - 1.0, high - 1.0, p, _drift_note(first, second), undetectable
    )


def _half_detectable_change(first: Array, second: Array, together: int) -> float | None:
    """Return the change that Welch's test misses in half of all cases.

    The rank test misses about the same change, within some 5 %.
    """
    if min(first.min(), second.min()) <= 0.0:
        return None
    logs = np.log(first), np.log(second)
    degrees = stats.ttest_ind(*logs, equal_var=False).df
    error = math.sqrt(sum(np.var(values, ddof=1) / len(values) for values in logs))
    reach = float(stats.t.isf(ALPHA / max(together, 1) / 2.0, degrees)) * error
    return math.expm1(reach) if math.isfinite(reach) and reach < MAX_LOG_CHANGE else None


def p_value(first: Array, second: Array, together: int) -> float:
    """Return the p value of the rank test, or of Welch's test if ranks can never be significant.

    `together` is the number of p values that are corrected together. The rank test needs the fewest
    assumptions. But with 5 and 5 repetitions its smallest p value is 2/252: corrected for 7 or more
    values, it is never below 5 %. Only the numbers of repetitions choose the test, never the
    values, so each test keeps its error rate. Welch's test uses logarithms, because disturbances
    multiply times; logarithms also shorten a long tail of slow runs.
    """
    if min_rank_p(len(first), len(second)) * together < ALPHA:
        return float(stats.mannwhitneyu(first, second, alternative="two-sided").pvalue)
    if min(first.min(), second.min()) > 0.0:
        first, second = np.log(first), np.log(second)
    p = float(stats.ttest_ind(first, second, equal_var=False).pvalue)
    return p if math.isfinite(p) else 1.0


def min_rank_p(first: int, second: int) -> float:
    """Return the smallest two-sided p value of the rank test: 2 of all possible orders."""
    return 2.0 / math.comb(first + second, first)


def _drift_note(first: Array, second: Array) -> str:
    """Return a note that names the sides whose runs drifted: drift may explain the difference."""
    drifted = []
    for name, samples in (("A", first), ("B", second)):
        half = len(samples) // 2
        if (
            half >= MIN_HALF_REPETITIONS
            and stats.mannwhitneyu(samples[:half], samples[-half:]).pvalue < MAX_DRIFT_P
        ):
            drifted.append(name)
    if not drifted:
        return ""
    return f"{' and '.join(drifted)} drifted while it ran: run both in turns"


def ratio_interval(first: Array, second: Array) -> tuple[float, float]:
    """Return the 95 % interval of median(second) / median(first): BCa, else percentile."""

    def ratio(x, y, axis=-1):  # type: ignore[no-untyped-def]
        return np.median(y, axis=axis) / np.median(x, axis=axis)

    with np.errstate(all="ignore"):
        for method in ("BCa", "percentile"):
            interval = stats.bootstrap(
                (first, second),
                ratio,
                n_resamples=RESAMPLES,
                method=method,
                rng=np.random.default_rng(0),
                vectorized=True,
            ).confidence_interval
            low, high = float(interval.low), float(interval.high)
            if math.isfinite(low) and math.isfinite(high):
                return low, high
    value = float(np.median(second) / np.median(first))
    return value, value


def _difference_of_errors(
    a: ComparedValue, b: ComparedValue, change: float | None, scale: float
) -> ValueDifference:
    """Return the difference of two values with known errors, by z test or, for few runs, t test."""
    assert a.sigma is not None and b.sigma is not None
    sigma = math.hypot(a.sigma, b.sigma)
    distance = b.value - a.value
    if sigma == 0.0:
        same = math.isclose(a.value, b.value, rel_tol=1e-9, abs_tol=1e-12)
        return ValueDifference(change, change, change, 1.0 if same else 0.0)
    degrees = _degrees(a, b)
    if degrees is None:
        reach, p = Z95, float(2.0 * stats.norm.sf(abs(distance) / sigma))
    else:
        reach = float(stats.t.ppf(0.975, degrees))
        p = float(2.0 * stats.t.sf(abs(distance) / sigma, degrees))
    if change is None:
        return ValueDifference(None, None, None, p)
    half = reach * sigma / abs(scale)
    return ValueDifference(change, change - half, change + half, p)


def _degrees(a: ComparedValue, b: ComparedValue) -> float | None:
    """Return the degrees of freedom of the side with fewer runs; None: neither counts its runs.

    Welch's formula gives more degrees, but depends on the error of a median of three runs.
    """
    runs = [value.repetitions for value in (a, b) if value.repetitions is not None]
    return float(max(min(runs) - 1, 1)) if runs else None

"""Period and length of stalls that recur by time, from rows of writes with different rests.

An unknown time u passes unmeasured between two writes, so that a row of n writes a period shows the
period p = P - n u: rows with several n give both P and u. A write waits for the remainder of a
stall. It begins at most one write and rest after the stall does, so its wait is at most that much
shorter than the stall. The rows' times have errors of their own, as every sample has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erf, sqrt

import numpy as np
from numpy.typing import NDArray

from nearfar.measure.infer.periods import find_comb
from nearfar.measure.infer.stall_events import LONG_WRITES, Stalls, beyond_noise, usual_ns

MAX_UNSEEN_NS = 120.0
"""Most ns between two writes that neither their times nor the rest include: timer and loop."""

REST_EXTRA_NS = 20.0
"""Unmeasured ns that a rest may add: it ends at a reading of the timer."""

RANGE_MARGIN = 0.08
"""Relative margin of the range in which a row's period is searched, for errors of its times."""

MAX_LENGTH_RATIO = 1.5
"""Ratio to the longest stall without rests up to which stalls of a rested row belong to it."""

MIN_WAIT_SHARE = 0.7
"""Share of the shortest possible wait from which waits count, for errors of their times."""

MIN_WRITES_RATIO = 1.5
"""Least ratio of the rows' writes a period: with less, periods in writes and in time agree."""

MIN_USUAL_SHARE = 0.1
"""Share of a row's writes that must not be stalled for them to give its usual time."""

MAX_SPREAD = 0.1
"""Largest relative deviation of single usual writes: beyond it, it is not that of a stall too."""

CONSISTENT = 0.03
"""Relative difference of the rows' periods that is allowed in addition to their errors."""

OUTLYING = 4.0
"""Standard errors beyond which a row is left out: a disturbed row that nobody noticed."""

MIN_CLOSER_SHARE = 0.6
"""Share of the rows that must agree within their errors alone for the others to be left out."""

COMMON_SHARE = 0.5
"""Share of the variance of a row's time that all rows have in common: drift that outlasts them."""

OUTLIER_SHARE = 0.02
"""Probability of a row whose waits say nothing."""

GRID = 800
"""Lengths whose probability is computed."""

NORMAL_95 = 1.96
"""Half of a 95 % interval, in standard errors."""


@dataclass(frozen=True)
class WriteRow:
    """A row of writes to one place, with a rest between each two."""

    times_ns: NDArray[np.float64]
    rest_ns: float


@dataclass(frozen=True)
class StalledRow:
    """The stalls of one row that recur by time; times in ns."""

    period_ns: float
    """As measured: without the unseen time between the writes."""
    error_ns: float
    """Standard error of the period by itself."""
    writes: float
    """Writes per period."""
    timed_share: float
    """Share of the period that was measured; the rest was a rest, which is exact."""
    spacing_ns: float
    """Usual time from the start of one write to that of the next."""
    rested: bool
    waits_ns: tuple[float, float]
    """Range of the waits, without the error of single times."""
    least_wait_ns: float
    """Shortest wait that could be seen."""


@dataclass(frozen=True)
class Interval:
    """A value and its 95 % interval."""

    value: float
    low: float
    high: float
    error: float
    """Standard error."""


@dataclass(frozen=True)
class RefreshStall:
    """A stall that recurs by time; times in ns."""

    period: Interval
    length: Interval
    unseen_ns: float
    """Time between two writes that is in neither their times nor the rests."""


def fit_refresh(rows: Sequence[WriteRow], kind: Stalls, scale: float) -> RefreshStall | None:
    """Return the refresh that explains `kind`, found in the first row, in all rows.

    `scale` is the relative standard error of a row's times. None: periods in time disagree.
    """
    if kind.by_time is None:
        return None
    first = rows[0]
    usual = usual_ns(first.times_ns)
    per_period = float(np.sum(first.times_ns)) / len(first.times_ns)
    longest = kind.by_time.value * (1 + MAX_UNSEEN_NS / per_period)
    ranges = (kind.by_time.value * (1 - RANGE_MARGIN), longest * (1 + RANGE_MARGIN))
    stalled = [row_stalls(row, kind, usual, ranges) for row in rows]
    seen = [row for row in stalled if row is not None]
    if len(seen) < 3 or max(row.writes for row in seen) < MIN_WRITES_RATIO * min(
        row.writes for row in seen
    ):
        return None
    fitted = _fit_period(seen, scale)
    if fitted is None:
        return None
    period, unseen = fitted
    return RefreshStall(period, _fit_length(seen, max(unseen, 0.0), scale), unseen)


@dataclass(frozen=True)
class _Events:
    """Writes of a row that may be stalls of one kind; times in ns."""

    indices: NDArray[np.intp]
    waits_ns: NDArray[np.float64]
    usual_ns: float
    spread: float
    """Relative deviation of a single usual write."""
    least_wait_ns: float


def row_stalls(
    row: WriteRow, kind: Stalls, plain_usual_ns: float, ranges: tuple[float, float]
) -> StalledRow | None:
    """Return the stalls of one row; None: they do not recur in time within `ranges`, ns."""
    events = _events(row, kind, plain_usual_ns)
    comb = find_comb(np.cumsum(row.times_ns + row.rest_ns)[events.indices], *ranges)
    if comb is None:
        return None
    writes = float(np.diff(events.indices)[comb.steps].sum() / comb.teeth.sum())
    members = events.waits_ns[np.union1d(comb.steps, comb.steps + 1)]
    return StalledRow(
        period_ns=comb.period,
        error_ns=comb.error,
        writes=writes,
        timed_share=max(1 - writes * row.rest_ns / comb.period, 0.0),
        spacing_ns=events.usual_ns + row.rest_ns,
        rested=row.rest_ns > 0,
        waits_ns=_range_of(members, events.spread),
        least_wait_ns=events.least_wait_ns,
    )


def share_by_writes(rows: Sequence[WriteRow], kind: Stalls) -> float:
    """Return the share of rested rows with the writes per period of the first row: wear has them.

    Unlike `find_kinds` it also counts rows in which most stalls of the kind are hidden by others.
    """
    if kind.by_writes is None or len(rows) < 2:
        return 0.0
    usual, writes = usual_ns(rows[0].times_ns), kind.by_writes.value
    combs = [
        find_comb(
            _events(row, kind, usual).indices.astype(float),
            writes * (1 - RANGE_MARGIN),
            writes * (1 + RANGE_MARGIN),
        )
        for row in rows[1:]
    ]
    return sum(comb is not None for comb in combs) / len(combs)


def _events(row: WriteRow, kind: Stalls, plain_usual_ns: float) -> _Events:
    """Return the writes that waited about as long as a kind's, or shorter by a write and a rest.

    `plain_usual_ns` is the usual time where all writes of this row are stalled.
    """
    quick = row.times_ns[row.times_ns <= LONG_WRITES * plain_usual_ns]
    usual, noise, spread = plain_usual_ns, 0.0, 0.0
    if len(quick) > MIN_USUAL_SHARE * len(row.times_ns):
        usual, noise = float(np.median(quick)), beyond_noise(quick)
        spread = min(float(np.std(np.log(quick))), MAX_SPREAD)
    shortest, longest = float(np.min(kind.lengths_ns)), float(np.max(kind.lengths_ns))
    least = max(noise, MIN_WAIT_SHARE * (shortest - usual - row.rest_ns))
    waits = row.times_ns - usual
    indices = np.nonzero((waits > least) & (waits <= MAX_LENGTH_RATIO * longest))[0]
    return _Events(indices, waits[indices], usual, spread, least)


def _range_of(waits: NDArray[np.float64], spread: float) -> tuple[float, float]:
    """Return the range of the waits without their relative error `spread`.

    The waits of a row whose rhythm the stalls set are alike; else they are uniform in a range.
    """
    middle = float(np.median(waits))
    deviation = float(np.subtract(*np.percentile(waits, (84, 16)))) / 2
    beyond = deviation**2 - (spread * middle) ** 2
    # The middle 68 % of a uniform range are 0.68 of it.
    half = np.sqrt(beyond) / 0.68 if beyond > (0.5 * spread * middle) ** 2 else 0.0
    return max(middle - half, 0.0), min(middle + half, float(np.max(waits)))


def _fit_period(rows: Sequence[StalledRow], scale: float) -> tuple[Interval, float] | None:
    """Return the period and the unseen time by weighted least squares; None: rows disagree."""
    periods = np.array([row.period_ns for row in rows])
    writes = np.array([row.writes for row in rows])
    errors = np.array([_period_error(row, scale) for row in rows])
    kept = _agreeing(periods, writes, errors, CONSISTENT)
    if kept.sum() < max(3, len(rows) / 2):
        return None
    closer = _agreeing(periods, writes, errors, 0.0)
    if closer.sum() >= max(3, MIN_CLOSER_SHARE * len(rows)):
        kept = closer
    ratio = writes[kept].max() / writes[kept].min()
    if ratio < MIN_WRITES_RATIO:
        return None
    design = np.stack([np.ones(int(kept.sum())), -writes[kept]], axis=1)
    weighted = design / errors[kept, None]
    inverse = np.linalg.inv(weighted.T @ weighted)
    gain = inverse @ weighted.T / errors[kept]
    period, unseen = (float(value) for value in gain @ periods[kept])
    if not -MAX_UNSEEN_NS / 4 <= unseen <= MAX_UNSEEN_NS * (1 + RANGE_MARGIN):
        return None
    residuals = (periods[kept] - design @ (period, unseen)) / errors[kept]
    more = max(float(residuals @ residuals) / max(int(kept.sum()) - 2, 1), 1.0)
    timed = np.array([row.timed_share * row.period_ns for row in rows])[kept]
    common = float(gain[0] @ timed) * scale * np.sqrt(COMMON_SHARE)
    error = float(np.sqrt(inverse[0, 0] * more + common**2))
    return _interval(period, error), unseen


def _period_error(row: StalledRow, scale: float) -> float:
    extra = 0.0 if row.rested else REST_EXTRA_NS * row.writes / 2
    of_scale = scale * np.sqrt(1 - COMMON_SHARE) * row.timed_share * row.period_ns
    return float(np.sqrt(row.error_ns**2 + of_scale**2 + extra**2)) + 1e-6 * row.period_ns


def _agreeing(
    periods: NDArray[np.float64],
    writes: NDArray[np.float64],
    errors: NDArray[np.float64],
    margin: float,
) -> NDArray[np.bool_]:
    """Return which rows agree on one period and unseen time: of all pairs', those of most rows.

    `margin` is the relative difference allowed in addition to `OUTLYING` errors.
    """
    best = np.zeros(len(periods), dtype=bool)
    least = np.inf
    for row in range(len(periods)):
        for other in range(row):
            apart = writes[row] - writes[other]
            if abs(apart) < (MIN_WRITES_RATIO - 1) * min(writes[row], writes[other]):
                continue
            unseen = float(np.clip((periods[other] - periods[row]) / apart, 0.0, MAX_UNSEEN_NS))
            corrected = periods + writes * unseen
            middle = float(np.median(corrected))
            away = np.abs(corrected - middle)
            agree = away <= OUTLYING * errors + margin * middle
            if (agree.sum(), -away[agree].sum()) > (best.sum(), -least):
                best, least = agree, float(away[agree].sum())
    return best


def _fit_length(rows: Sequence[StalledRow], unseen: float, scale: float) -> Interval:
    """Return the length: the waits of each row are at most one spacing of writes shorter."""
    highest = max(row.waits_ns[1] for row in rows)
    spacing = min(row.spacing_ns for row in rows) + unseen
    lengths = np.geomspace(highest / 2, (highest + spacing) * 1.5, GRID)
    likely = np.zeros(GRID)
    for row in rows:
        low, high = row.waits_ns
        gap = row.spacing_ns + unseen
        error = max(scale * np.sqrt(1 - COMMON_SHARE) * high, 1e-3 * high)
        # Rows whose writes are further apart than a stall is long miss some stalls.
        within = np.minimum(gap, lengths - row.least_wait_ns)
        above = np.where(gap < lengths, _normal((low + gap - lengths) / error), 1.0)
        density = _normal((lengths - high) / error) * above / np.maximum(within - high + low, error)
        # A row beside all these lengths was disturbed, and says nothing.
        density /= max(float(density.sum()), np.finfo(float).tiny)
        likely += np.log(density + OUTLIER_SHARE / GRID)
    weights = np.exp(likely - likely.max()) * np.gradient(lengths)
    below = np.cumsum(weights) / weights.sum()
    low, middle, high = (float(np.interp(share, below, lengths)) for share in (0.025, 0.5, 0.975))
    common = NORMAL_95 * scale * np.sqrt(COMMON_SHARE) * middle
    low, high = middle - np.hypot(middle - low, common), middle + np.hypot(high - middle, common)
    return Interval(middle, float(low), float(high), float(high - low) / 2 / NORMAL_95)


def _normal(deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of a normal distribution below these standard deviations."""
    return np.array([(1 + erf(value / sqrt(2))) / 2 for value in deviations.tolist()])


def _interval(value: float, error: float) -> Interval:
    return Interval(value, value - NORMAL_95 * error, value + NORMAL_95 * error, error)

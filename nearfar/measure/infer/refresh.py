"""Period and length of stalls that recur by time, from rows of writes with different rests.

An unknown time u passes unmeasured between two writes, so that a row of n writes a period shows the
period p = P - n u: rows with several n give both P and u. A write waits for the remainder of a
stall. It begins at most one write and rest after the stall does, so its wait is at most that much
shorter than the stall; where it begins is not random, since each stall sets the rhythm of the
writes until the next. The rows' times have errors of their own, as every sample has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from nearfar.measure.infer.periods import find_comb
from nearfar.measure.infer.resample import MAD_TO_SIGMA
from nearfar.measure.infer.stall_events import (
    MAX_UNSEEN_NS,
    RowWaits,
    Stalls,
    WriteRow,
    usual_ns,
    waits_of,
)

REST_EXTRA_NS = 20.0
"""Unmeasured ns that a rest may add: it ends at a reading of the timer."""

RANGE_MARGIN = 0.08
"""Relative margin of the range in which a row's period is searched, for errors of its times."""

MIN_WRITES_RATIO = 1.5
"""Least ratio of the rows' writes a period: with less, periods in writes and in time agree."""

CONSISTENT = 0.03
"""Relative difference of the rows' periods that is allowed in addition to their errors."""

OUTLYING = 4.0
"""Standard errors beyond which a row is left out: a disturbed row that nobody noticed."""

MIN_CLOSER_SHARE = 0.6
"""Share of the rows that must agree within their errors alone for the others to be left out."""

MAX_COMMON_SCALE = 0.01
"""Relative error that all rows have in common, as drift on idle guests; at most that of one row."""

MAX_USUAL_SPREAD = 0.05
"""Relative deviation of the rows' usual times beyond which rests change the writes themselves."""

OUTLIER_SHARE = 0.02
"""Probability of a row, or of a wait, that says nothing."""

GRID, BINS, PHASES = 120, 160, 80
"""Lengths whose probability is computed, steps of the waits, and steps of a write's beginning."""

GRID_MARGIN = 1e-3
"""Probability on each side of the lengths that are computed again, with finer steps."""

MAX_WAITS = 200
"""Waits of a row that are compared: they are enough, and quick."""

PRODUCT_ROWS = 8
"""Rows of a matrix product in one call."""

RHYTHMS = (0.05, 0.15, 0.4)
"""Deviations of the beginnings of stalled writes, in spacings of writes."""

NORMAL_95 = 1.96
"""Half of a 95 % interval, in standard errors."""


@dataclass(frozen=True)
class RowError:
    """Relative standard error of a row's times."""

    scale: float
    weight: float
    """Rows that this is worth: rows that differ by less or more than it change it."""


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
    waits: RowWaits
    """Its stalls alone."""


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


def fit_refresh(rows: Sequence[WriteRow], kind: Stalls, error: RowError) -> RefreshStall | None:
    """Return the refresh that explains `kind`, found in the first row, in all rows.

    None: periods in time disagree.
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
    scale = _scale_of(seen, error)
    fitted = _fit_period(seen, scale)
    if fitted is None:
        return None
    period, unseen = fitted
    return RefreshStall(period, _fit_length(seen, max(unseen, 0.0), scale), unseen)


def _scale_of(rows: Sequence[StalledRow], error: RowError) -> float:
    """Return the relative error of a row's times, larger where few rows show it.

    The rows' usual times are one time with these errors, unless rests change the writes too.
    """
    from scipy.stats import t

    usual = np.log(np.maximum([row.waits.usual_ns for row in rows], np.finfo(float).tiny))
    away = np.abs(usual - np.median(usual))
    near = usual[away <= OUTLYING * max(error.scale, MAD_TO_SIGMA * float(np.median(away)))]
    spread = float(np.std(near, ddof=1))
    if spread > max(MAX_USUAL_SPREAD, 3 * error.scale):
        return error.scale
    weight = error.weight + len(near) - 1
    squares = error.weight * error.scale**2 + (len(near) - 1) * spread**2
    return float(np.sqrt(squares / weight) * t.ppf(0.975, weight)) / NORMAL_95


def row_stalls(
    row: WriteRow, kind: Stalls, plain_usual_ns: float, ranges: tuple[float, float]
) -> StalledRow | None:
    """Return the stalls of one row; None: they do not recur in time within `ranges`, ns."""
    events = waits_of(row, kind, plain_usual_ns)
    comb = find_comb(np.cumsum(row.times_ns + row.rest_ns)[events.indices], *ranges)
    if comb is None:
        return None
    writes = float(np.diff(events.indices)[comb.steps].sum() / comb.teeth.sum())
    members = np.union1d(comb.steps, comb.steps + 1)
    return StalledRow(
        period_ns=comb.period,
        error_ns=comb.error,
        writes=writes,
        timed_share=max(1 - writes * row.rest_ns / comb.period, 0.0),
        spacing_ns=events.usual_ns + row.rest_ns,
        rested=row.rest_ns > 0,
        waits=replace(events, indices=events.indices[members], waits_ns=events.waits_ns[members]),
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
            waits_of(row, kind, usual).indices.astype(float),
            writes * (1 - RANGE_MARGIN),
            writes * (1 + RANGE_MARGIN),
        )
        for row in rows[1:]
    ]
    return sum(comb is not None for comb in combs) / len(combs)


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
    common = float(gain[0] @ timed) * min(scale, MAX_COMMON_SCALE)
    error = float(np.sqrt(inverse[0, 0] * more + common**2))
    return _interval(period, error), unseen


def _period_error(row: StalledRow, scale: float) -> float:
    extra = 0.0 if row.rested else REST_EXTRA_NS * row.writes / 2
    of_scale = scale * row.timed_share * row.period_ns
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
    """Return the length of the stall with its interval: each wait is the end of one stall."""
    longest = max(float(np.percentile(row.waits.waits_ns, 75)) for row in rows)
    spacing = min(row.spacing_ns for row in rows) + unseen
    low, high = longest / 2, (longest + spacing) * 1.5
    for _ in range(2):
        lengths = np.geomspace(low, high, GRID)
        step = float(np.log(high / low)) / (GRID - 1)
        away = np.arange(-GRID, GRID + 1) * step / np.hypot(scale, step)
        errors = np.exp(-(away**2) / 2)
        likely = np.zeros(GRID)
        for row in rows:
            density = np.convolve(_length_density(row, unseen, lengths, step), errors)
            density = density[GRID : 2 * GRID]
            # A row beside all these lengths was disturbed, and says nothing.
            density /= max(float(density.sum()), np.finfo(float).tiny)
            likely += np.log(density + OUTLIER_SHARE / GRID)
        weights = np.exp(likely - likely.max())
        below = (np.cumsum(weights) - weights / 2) / weights.sum()
        low, high = (
            float(np.interp(share, below, lengths)) for share in (GRID_MARGIN, 1 - GRID_MARGIN)
        )
        margin = 1 + 2 * max(step, scale)
        low, high = low / margin, high * margin
    low, middle, high = (float(np.interp(share, below, lengths)) for share in (0.025, 0.5, 0.975))
    common = NORMAL_95 * min(scale, MAX_COMMON_SCALE) * middle
    low, high = middle - np.hypot(middle - low, common), middle + np.hypot(high - middle, common)
    return Interval(middle, float(low), float(high), float(high - low) / 2 / NORMAL_95)


def _length_density(
    row: StalledRow, unseen: float, lengths: NDArray[np.float64], step: float
) -> NDArray[np.float64]:
    """Return the relative probability of a row's waits for each length.

    `step` is the relative distance of the lengths. The error of a wait is that of a write or of
    the wait as well: both are tried.
    """
    waits = row.waits.waits_ns[:MAX_WAITS]
    usual, spread = row.waits.usual_ns, row.waits.spread
    middle = float(np.median(waits))
    least = step * middle
    logs = np.concatenate(
        [
            _log_likelihoods(
                replace(row.waits, waits_ns=waits),
                lengths,
                row.spacing_ns + unseen,
                max(noise, least),
            )
            for noise in (spread * usual, spread * (usual + middle))
        ]
    )
    density: NDArray[np.float64] = np.exp(logs - logs.max()).sum(axis=0)
    return density


def _log_likelihoods(
    waits: RowWaits, lengths: NDArray[np.float64], gap: float, noise: float
) -> NDArray[np.float64]:
    """Return log likelihoods: a row for each rhythm of the writes, a column for each length.

    `gap` is the time between the beginnings of two writes, `noise` the error of a wait; in ns.
    """
    noise = max(noise, gap / PHASES)
    bin_ns = (gap + 8 * noise) / BINS
    first = -4 * noise
    starts = first + (np.arange(BINS) + 0.5) * bin_ns
    away = (starts - (np.arange(PHASES) + 0.5)[:, None] * gap / PHASES) / noise
    errors = np.exp(-(away**2) / 2)
    errors /= np.maximum(errors.sum(axis=1, keepdims=True), np.finfo(float).tiny) * bin_ns
    density = _product(_rhythms(), errors)
    density = np.pad(density, ((0, 0), (1, 1)))
    shortest, longest = waits.range_ns
    stray = OUTLIER_SHARE / max(longest - shortest, bin_ns)
    # How much later than a stall the writes began that waited so long.
    later = lengths[:, None] - waits.waits_ns
    bins = np.clip(np.floor((later - first) / bin_ns) + 1, 0, BINS + 1).astype(int)
    bins += np.arange(len(lengths))[:, None] * (BINS + 2)
    counts = np.bincount(bins.ravel(), minlength=len(lengths) * (BINS + 2))
    below = np.cumsum(density, axis=1) * bin_ns
    early, late = (
        np.clip(np.round((lengths - wait - first) / bin_ns), 0, BINS + 1).astype(int)
        for wait in (longest, shortest)
    )
    visible = below[:, late] - below[:, early]
    seen = _product(np.log(density + stray), counts.reshape(len(lengths), BINS + 2).T.astype(float))
    seen -= len(waits.waits_ns) * np.log(np.maximum(visible, 0.0) + OUTLIER_SHARE)
    return np.asarray(seen)


def _product(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix product, in parts too small for the threads of a library.

    On busy machines these wait for each other, four times as long as one of them computes.
    """
    parts = np.array_split(left, -(-len(left) // PRODUCT_ROWS))
    return np.concatenate([part @ right for part in parts])


@lru_cache(maxsize=1)
def _rhythms() -> NDArray[np.float64]:
    """Return probabilities of the beginning of a stalled write in the time between two writes.

    A row each: at random, or about each time, some of them at random after stalls without a write.
    """
    phases = (np.arange(PHASES) + 0.5) / PHASES
    rows = [np.full(PHASES, 1 / PHASES)]
    for deviation in RHYTHMS:
        for middle in np.arange(0, 1, deviation / 1.5):
            away = (phases - middle + 0.5) % 1 - 0.5
            near = np.exp(-((away / deviation) ** 2) / 2)
            near /= near.sum()
            rows += [near, 0.7 * near + 0.3 / PHASES]
    return np.array(rows)


def _interval(value: float, error: float) -> Interval:
    return Interval(value, value - NORMAL_95 * error, value + NORMAL_95 * error, error)

"""Stalls, from the times of single writes to one place.

Wear recurs after a number of writes, refresh after a time: rests between the writes distinguish
them. Stalls that a loop in the processor's cache has too come from the host (timer, neighbours).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import erf, sqrt

import numpy as np
from numpy.typing import NDArray

from nearfar.devices.stalls import is_notable
from nearfar.documents.device import StallFigure
from nearfar.measure.infer.findings import MEASURED_HERE, Findings
from nearfar.measure.infer.probe import InferenceProbe
from nearfar.measure.infer.refresh import (
    NORMAL_95,
    Interval,
    RefreshStall,
    RowError,
    fit_refresh,
    share_by_writes,
)
from nearfar.measure.infer.resample import MAD_TO_SIGMA, MEDIAN_COST
from nearfar.measure.infer.stall_events import (
    Stalls,
    WriteRow,
    find_kinds,
    is_usable,
    usual_ns,
    wear_granularity,
)
from nearfar.samples.evidence import Evidence
from nearfar.samples.point import SamplePoint

KERNEL = "overwrite"
ACCESS_BYTES = 64
"""Bytes of one write: a line, which a store and its fence write at once whatever the block."""

PLACE_BYTES = 256
"""Size of the place that is written, as in published overwrites."""

WRITES = (60_000, 240_000, 960_000)
"""Writes in a row, until enough stalls are seen: published periods are 9,500 to 18,000 writes."""

MIN_STALLS = 8
"""Stalls of one kind that are enough: a period is known to a few per cent."""

REST_WRITES = (0.3, 0.7, 1.5, 3.0)
"""Rests between the writes of further rows, in usual writes: periods in writes and in time then
differ by up to a factor of four."""

REST_LENGTHS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""Longer rests, in lengths of a stall by time: no stall falls into a rest, and most of a period is
a rest, whose length is exact."""

EVENTS = 60
"""Stalls expected in each further row: their mean distance has an eighth of their deviation."""

LEAST_WRITES = 10_000
"""Least writes of a further row: noise of the usual write is known."""

PERIOD_TOLERANCE = 0.05
"""Relative difference that the periods of two rows may have."""

LENGTH_TOLERANCE = 0.1
"""Relative error of a length within which it is still right: real stalls differ by as much."""

MIN_WEAR_WRITES = 80
"""Least writes a period of wear: shorter patterns come from lines and blocks of the place."""

WEAR_ROWS_SHARE = 0.75
"""Share of the rested rows that must repeat the period in writes."""

ROW_ERROR = RowError(0.02, 1.0)
"""Relative standard error of a row's times, where too few samples tell: 1-3 % on idle guests."""

MIN_ROW_SCALE = 0.002
"""The least of these errors: rows that agree by chance are not exact."""

MIN_SAMPLES_OF_POINT = 4
MIN_REPEATED = 20
"""Samples of a point, and of all such points, from which this error is computed."""

REPEATED_WEIGHT = 10.0
"""Rows that they are worth: they took other times, and other kernels."""

CONTROL_BYTES = 4096
"""Size of the control region, in the first cache of any processor."""

CONTROL_TIMES = 8
"""Control accesses per write: an access to a cache takes a fraction of a write."""

RESAMPLES = 200
EVIDENCE = "overwrite"


def overwrite(
    probe: InferenceProbe, region_bytes: int, writes: int, rest_ns: float = 0.0
) -> SamplePoint:
    """Return the point that writes over a region, each write timed."""
    return SamplePoint(
        "overwrite",
        KERNEL,
        probe.facts.page_sizes[0],
        region_bytes,
        access_bytes=ACCESS_BYTES,
        rest_ns=rest_ns,
        each=True,
        accesses=writes,
    )


def infer_stalls(probe: InferenceProbe, findings: Findings) -> None:
    """Add the stalls."""
    if KERNEL not in probe.facts.kernels:
        findings.not_seen["stalls"] = "this processor has no stores that pass the caches"
        return
    each, kinds = _write_until_enough(probe)
    if each is None:
        findings.not_seen["stalls"] = (
            "time ran out" if probe.seconds_left() <= 0 else "single writes have no usable times"
        )
        return
    findings.evidence[EVIDENCE] = stall_evidence(each, kinds)
    if not kinds:
        findings.not_seen["stalls"] = (
            f"{len(each)} writes to one place had no stalls at a fixed distance"
        )
        return
    rows = [WriteRow(each, 0.0), *_rested_rows(probe, each, kinds)]
    control = _control(probe, len(each))
    own = [kind for kind in kinds if not _is_in_control(kind, control)]
    if len(own) < len(kinds):
        findings.not_seen["stalls"] = (
            "the host causes them: a loop in the first cache has the same stalls"
        )
    _add_stalls(probe, rows, own, findings)
    if findings.stalls:
        findings.not_seen.pop("stalls", None)


def _write_until_enough(probe: InferenceProbe) -> tuple[NDArray[np.float64] | None, list[Stalls]]:
    """Write longer rows until enough stalls are seen; return the last row and its stalls."""
    each, kinds = None, list[Stalls]()
    for writes in WRITES:
        if probe.seconds_left() <= 0:
            break
        sample = probe.calm(overwrite(probe, PLACE_BYTES, writes))
        if sample.each_ns is None or not is_usable(sample.each_ns):
            break
        each = sample.each_ns.astype(float)
        kinds = find_kinds(each, 0.0)
        # The rarest kind decides, and the shortest row may not contain any stall of it yet.
        if kinds and min(len(kind.indices) for kind in kinds) >= MIN_STALLS and writes > WRITES[0]:
            break
    return each, kinds


def _control(probe: InferenceProbe, accesses: int) -> list[Stalls]:
    """Return the stalls of a loop in the first cache; none without a cache."""
    if probe.facts.llc_bytes == 0:
        return []
    # The loop takes as long as the row of writes, so that the host would stall it as often.
    point = SamplePoint(
        "overwrite",
        "chase",
        probe.facts.page_sizes[0],
        CONTROL_BYTES,
        each=True,
        accesses=CONTROL_TIMES * accesses,
    )
    sample = probe.sample(point)
    return [] if sample.each_ns is None else find_kinds(sample.each_ns.astype(float), 0.0)


def _is_in_control(kind: Stalls, control: Sequence[Stalls]) -> bool:
    length = float(np.median(kind.lengths_ns))
    return any(0.5 <= float(np.median(other.lengths_ns)) / length <= 2.0 for other in control)


def _rested_rows(
    probe: InferenceProbe, each: NDArray[np.float64], kinds: Sequence[Stalls]
) -> list[WriteRow]:
    """Write rows with rests of some writes between the writes."""
    fewest = min(len(kind.indices) for kind in kinds)
    writes = min(max(EVENTS * len(each) // fewest, LEAST_WRITES), len(each))
    usual = usual_ns(each)
    return _write_rows(probe, [(share * usual, writes) for share in REST_WRITES])


def _write_rows(probe: InferenceProbe, wanted: Sequence[tuple[float, int]]) -> list[WriteRow]:
    """Write a row for each (rest in ns, writes), as long as time lasts."""
    rows = []
    for rest_ns, writes in wanted:
        if probe.seconds_left() <= 0:
            break
        sample = probe.calm(overwrite(probe, PLACE_BYTES, writes, rest_ns))
        if sample.each_ns is not None and is_usable(sample.each_ns):
            rows.append(WriteRow(sample.each_ns.astype(float), rest_ns))
    return rows


def _add_stalls(
    probe: InferenceProbe,
    rows: Sequence[WriteRow],
    kinds: Sequence[Stalls],
    findings: Findings,
) -> None:
    """Decide which kinds of stall recur by writes (wear) and which by time (refresh), and add them.

    The period must be the same in the rows with and without rests.
    """
    error = row_error(probe)
    by_writes = []
    for kind in kinds:
        again = _repeated_by_writes(rows[1:], kind)
        if len(rows) > 1 and len(again) >= WEAR_ROWS_SHARE * (len(rows) - 1):
            by_writes.append([kind, *again])
            continue
        refresh = fit_refresh(rows, kind, error)
        if refresh is not None and not _may_be_wear(rows, kind):
            longer = _write_rows(probe, _longer_rests(rows[0], refresh))
            _add_refresh(fit_refresh([*rows, *longer], kind, error) or refresh, findings)
        else:
            findings.not_seen["stalls"] = _why_undecided(probe, rows)
    for wear in by_writes:
        _add_wear(probe, wear, error.scale, findings)


def _why_undecided(probe: InferenceProbe, rows: Sequence[WriteRow]) -> str:
    if len(rows) > len(REST_WRITES):
        return "long writes recur, but rests change their period in writes and in time"
    if probe.seconds_left() <= 0:
        return "time ran out"
    return "long writes recur, but too few rows with rests have usable times"


def _may_be_wear(rows: Sequence[WriteRow], kind: Stalls) -> bool:
    return (
        kind.by_writes is not None
        and kind.by_writes.value >= MIN_WEAR_WRITES
        and share_by_writes(rows, kind) > 1 - WEAR_ROWS_SHARE
    )


def row_error(probe: InferenceProbe) -> RowError:
    """Return the relative standard error of one row's times: repeated samples of any point show it.

    It includes drift, from which a row alone cannot tell.
    """
    deviations = [
        np.log(values / np.median(values))
        for values in map(probe.values, probe.taken)
        if len(values) >= MIN_SAMPLES_OF_POINT and values.min() > 0
    ]
    together = np.concatenate(deviations) if deviations else np.empty(0)
    if len(together) < MIN_REPEATED:
        return ROW_ERROR
    scale = float(np.median(np.abs(together))) * MAD_TO_SIGMA
    return RowError(max(scale, MIN_ROW_SCALE), REPEATED_WEIGHT)


def _repeated_by_writes(rows: Sequence[WriteRow], kind: Stalls) -> list[Stalls]:
    """Return the stalls of those rows that have the same period in writes."""
    if kind.by_writes is None or kind.by_writes.value < MIN_WEAR_WRITES:
        return []
    repeated = []
    for row in rows:
        for again in find_kinds(row.times_ns, row.rest_ns):
            if again.by_writes is not None and (
                abs(again.by_writes.value / kind.by_writes.value - 1) <= PERIOD_TOLERANCE
            ):
                repeated.append(again)
                break
    return repeated


def _longer_rests(row: WriteRow, refresh: RefreshStall) -> list[tuple[float, int]]:
    """Return rests in ns, and writes, of further rows for a stall by time."""
    usual = usual_ns(row.times_ns)
    rests = [share * refresh.length.value for share in REST_LENGTHS]
    return [
        (rest, max(round(EVENTS * refresh.period.value / (usual + rest)), 3 * EVENTS))
        for rest in rests
        if rest > REST_WRITES[-1] * usual
    ]


def _add_wear(
    probe: InferenceProbe, rows: Sequence[Stalls], scale: float, findings: Findings
) -> None:
    """Add the stalls by writes, of which each row has some."""
    periods = [row.by_writes for row in rows if row.by_writes is not None]
    distances = np.concatenate([period.distances for period in periods])
    period, share = _quantile_with_interval(distances, 0.5)
    length, note = _wear_length([row.lengths_ns for row in rows], scale), ""
    hidden = [stall.length_ns for stall in findings.stalls if is_notable(stall)]
    if hidden:
        shortest = min(float(np.median(row.lengths_ns)) for row in rows)
        low = max(shortest - max(hidden), 0.0)
        length = Interval(shortest, low, length.high, scale)
        note = "the length may include the wait for a stall by time"
    if findings.interleaves:
        granularity, why = None, "neighbouring places are on several devices, each with its counts"
    else:
        granularity, why = wear_granularity(probe, round(period[0]), length.value)
    if why:
        findings.not_seen["granularity of stalls"] = why
    findings.stalls.append(
        StallFigure(
            length_ns=length.value,
            length_low_ns=length.low,
            length_high_ns=length.high,
            period_writes=round(period[0]),
            granularity_bytes=granularity,
            low=period[1],
            high=period[2],
            confidence=share,
            evidence=EVIDENCE,
            note=note,
            **MEASURED_HERE,
        )
    )


def _wear_length(rows: Sequence[NDArray[np.float64]], scale: float) -> Interval:
    """Return the median of the rows' medians: a row may be wrong by `scale`, stalls differ too."""
    middle = float(np.median([np.median(lengths) for lengths in rows]))
    of_stalls = float(np.std(np.concatenate([lengths / np.median(lengths) for lengths in rows])))
    count = sum(map(len, rows))
    error = middle * float(np.hypot(scale, MEDIAN_COST * of_stalls / np.sqrt(count)))
    return Interval(middle, middle - NORMAL_95 * error, middle + NORMAL_95 * error, error)


def _add_refresh(refresh: RefreshStall, findings: Findings) -> None:
    period, length = refresh.period, refresh.length
    if any(
        stall.period_ns is not None and abs(stall.period_ns / period.value - 1) <= PERIOD_TOLERANCE
        for stall in findings.stalls
    ):
        # Waits for one stall differ in length, and may look like stalls of two kinds.
        return
    findings.stalls.append(
        StallFigure(
            length_ns=length.value,
            length_low_ns=length.low,
            length_high_ns=length.high,
            period_ns=period.value,
            low=period.low,
            high=period.high,
            confidence=_within(period, PERIOD_TOLERANCE) * _within(length, LENGTH_TOLERANCE),
            evidence=EVIDENCE,
            **MEASURED_HERE,
        )
    )


def _within(interval: Interval, tolerance: float) -> float:
    """Return the probability that a value is wrong by less than a relative `tolerance`."""
    return float(erf(tolerance * interval.value / max(interval.error, 1e-9) / sqrt(2)))


def _quantile_with_interval(
    values: NDArray[np.float64], quantile: float
) -> tuple[tuple[float, float, float], float]:
    """Return a quantile with its bootstrap interval, and the share of resamples that agree."""
    rng = np.random.default_rng(0)
    picked = values[rng.integers(0, len(values), (RESAMPLES, len(values)))]
    estimates = np.quantile(picked, quantile, axis=1)
    middle = float(np.quantile(values, quantile))
    low, high = np.percentile(estimates, (2.5, 97.5))
    return (middle, float(low), float(high)), float(
        np.mean(abs(estimates / middle - 1) <= PERIOD_TOLERANCE)
    )


def stall_evidence(each: NDArray[np.float64], kinds: Sequence[Stalls]) -> Evidence:
    """Return the slowest write of each of about 2000 stretches, with the stalls marked."""
    stretch = max(len(each) // 2000, 1)
    stretches = each[: len(each) // stretch * stretch].reshape(-1, stretch)
    return Evidence(
        group="overwrite",
        title="Slowest of neighbouring writes to one place",
        x_name="writes",
        y_name="time (ns)",
        x=np.arange(len(stretches), dtype=np.float64) * stretch,
        y=stretches.max(axis=1),
        y_low=np.median(stretches, axis=1),
        y_high=stretches.max(axis=1),
        knees=tuple(float(index) for kind in kinds for index in kind.indices),
        log_x=False,
    )

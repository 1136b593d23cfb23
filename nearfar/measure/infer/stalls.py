"""Stalls, from the times of single writes to one place.

Wear recurs after a number of writes, refresh after a time: rests between the writes distinguish
them. Stalls that a loop in the processor's cache has too come from the host (timer, neighbours).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.documents.device import StallFigure
from nearfar.measure.infer.findings import MEASURED_HERE, Findings
from nearfar.measure.infer.periods import find_comb
from nearfar.measure.infer.probe import InferenceProbe
from nearfar.measure.infer.stall_events import Stalls, find_kinds, wear_granularity
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

REST_WRITES = 1.5
"""Rest between writes of the second run, in median writes: periods in writes and in time then
differ by more than a factor of two."""

PERIOD_TOLERANCE = 0.05
"""Relative difference that the periods of both runs may have."""

MAX_UNSEEN_NS = 120.0
"""Most ns between two writes that neither their times nor the rest include: timer and loop."""

CONTROL_BYTES = 4096
"""Size of the control region, in the first cache of any processor."""

CONTROL_TIMES = 8
"""Control accesses per write: an access to a cache takes a fraction of a write."""

MAX_LENGTH_RATIO = 1.5
"""Ratio to the longest stall of a kind up to which stalls of the rested run belong to it."""

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


@dataclass(frozen=True)
class OverwriteRuns:
    """Times of the same writes without and with rests between them."""

    each: NDArray[np.float64]
    rested: NDArray[np.float64]
    rest_ns: float


def infer_stalls(probe: InferenceProbe, findings: Findings) -> None:
    """Add the stalls."""
    if KERNEL not in probe.facts.kernels:
        findings.not_seen["stalls"] = "this processor has no stores that pass the caches"
        return
    each, kinds = _write_until_enough(probe)
    if each is None:
        findings.not_seen["stalls"] = "time ran out"
        return
    findings.evidence[EVIDENCE] = stall_evidence(each, kinds)
    if not kinds:
        findings.not_seen["stalls"] = (
            f"{len(each)} writes to one place had no stalls at a fixed distance"
        )
        return
    rest = REST_WRITES * float(np.median(each))
    sample = probe.calm(overwrite(probe, PLACE_BYTES, len(each), rest))
    if sample.each_ns is None:
        findings.not_seen["stalls"] = "single writes are not timed"
        return
    runs = OverwriteRuns(each, sample.each_ns.astype(float), rest)
    control = _control(probe, len(each))
    for kind in kinds:
        if _is_in_control(kind, control):
            findings.not_seen["stalls"] = (
                "the host causes them: a loop in the first cache has the same stalls"
            )
        else:
            _decide(probe, runs, kind, findings)
    if findings.stalls:
        findings.not_seen.pop("stalls", None)


def _write_until_enough(probe: InferenceProbe) -> tuple[NDArray[np.float64] | None, list[Stalls]]:
    """Write longer rows until enough stalls are seen; return the last row and its stalls."""
    each, kinds = None, list[Stalls]()
    for writes in WRITES:
        if probe.seconds_left() <= 0:
            break
        sample = probe.calm(overwrite(probe, PLACE_BYTES, writes))
        if sample.each_ns is None:
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


def _decide(probe: InferenceProbe, runs: OverwriteRuns, kind: Stalls, findings: Findings) -> None:
    """Decide whether a kind of stall recurs by writes (wear) or by time (refresh).

    The period must be the same in the runs with and without rests.
    """
    by_writes = _same_in_rested_run(runs, kind)
    period_ns = _common_period_ns(runs, kind)
    if by_writes is not None:
        _add_wear(probe, kind, by_writes, findings)
    elif period_ns is not None:
        _add_refresh(kind, period_ns, findings)
    else:
        findings.not_seen["stalls"] = (
            "long writes recur, but rests change their period in writes and in time"
        )


def _same_in_rested_run(runs: OverwriteRuns, kind: Stalls) -> Stalls | None:
    """Return the stalls of the rested run with the same period in writes."""
    if kind.by_writes is None:
        return None
    for again in find_kinds(runs.rested, runs.rest_ns):
        if again.by_writes is not None and (
            abs(again.by_writes.value / kind.by_writes.value - 1) <= PERIOD_TOLERANCE
        ):
            return again
    return None


def _common_period_ns(runs: OverwriteRuns, kind: Stalls) -> float | None:
    """Return the period in ns that both runs share; None: they share none.

    An unknown time u passes unmeasured between two writes. It is the same in both runs, and so is
    the true period P = p1 + n1 u = p2 + n2 u, with p the measured period and n writes per period.
    """
    if kind.by_time is None:
        return None
    each, rested, rest_ns = runs.each, runs.rested, runs.rest_ns
    first = kind.by_time.value
    writes_first = first / float(each.mean())
    lengths = rested - np.median(rested)
    longest = MAX_LENGTH_RATIO * float(np.max(kind.lengths_ns))
    events = np.nonzero((lengths >= np.min(kind.lengths_ns)) & (lengths <= longest))[0]
    ends = np.cumsum(rested + rest_ns)[events]
    second = find_comb(ends, first * (1 - PERIOD_TOLERANCE), first + writes_first * MAX_UNSEEN_NS)
    if second is None:
        return None
    writes_second = second / (float(rested.mean()) + rest_ns)
    unseen = (second - first) / (writes_first - writes_second)
    if not -MAX_UNSEEN_NS / 4 <= unseen <= MAX_UNSEEN_NS:
        return None
    return second + writes_second * max(unseen, 0.0)


def _add_wear(probe: InferenceProbe, kind: Stalls, again: Stalls, findings: Findings) -> None:
    assert kind.by_writes is not None
    assert again.by_writes is not None
    distances = np.concatenate([kind.by_writes.distances, again.by_writes.distances])
    lengths = np.concatenate([kind.lengths_ns, again.lengths_ns])
    period, share = _quantile_with_interval(distances, 0.5)
    length, _ = _quantile_with_interval(lengths, 0.5)
    if findings.interleaves:
        granularity, why = None, "neighbouring places are on several devices, each with its counts"
    else:
        granularity, why = wear_granularity(probe, round(period[0]), length[0])
    if why:
        findings.not_seen["granularity of stalls"] = why
    findings.stalls.append(
        StallFigure(
            length_ns=length[0],
            length_low_ns=length[1],
            length_high_ns=length[2],
            period_writes=round(period[0]),
            granularity_bytes=granularity,
            low=period[1],
            high=period[2],
            confidence=share,
            evidence=EVIDENCE,
            **MEASURED_HERE,
        )
    )


def _add_refresh(kind: Stalls, period_ns: float, findings: Findings) -> None:
    assert kind.by_time is not None
    # A write waits for the remainder of a refresh: the longest stalls saw nearly all of it.
    length, _ = _quantile_with_interval(kind.lengths_ns, 0.9)
    spread, share = _quantile_with_interval(kind.by_time.distances, 0.5)
    findings.stalls.append(
        StallFigure(
            length_ns=length[0],
            length_low_ns=length[1],
            length_high_ns=length[2],
            period_ns=period_ns,
            low=period_ns * spread[1] / spread[0],
            high=period_ns * spread[2] / spread[0],
            confidence=share,
            evidence=EVIDENCE,
            **MEASURED_HERE,
        )
    )


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

"""Stalls, from the times of single writes over and over one place.

Wear recurs after so many writes, whatever the time; refresh after so much time, whatever the
writes: rests between the writes tell them apart. What a loop that stays in the processor's cache
shows as well is the host's (its timer, its neighbours), not the memory's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nearfar.documents.device import StallFigure
from nearfar.measure.infer.findings import HAD, Evidence
from nearfar.measure.infer.stall_events import Stalls, find_stalls
from nearfar.measure.infer.wear import wear_granularity
from nearfar.measure.subject import Point

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.measure.infer.findings import Findings
    from nearfar.measure.infer.periods import Period
    from nearfar.measure.infer.probe import Probe

KERNEL = "overwrite"
ACCESS_BYTES = 256
"""One write of the media known; published overwrites use it."""

WRITES = (60_000, 240_000, 960_000)
"""Until enough stalls are seen: periods published run from 9.5 k to 18 k writes."""

ENOUGH = 8
"""Stalls of a kind: a period is then known to a few per cent even where it varies."""

RESTS = 1.5
"""Rest between writes of the second run, in usual writes: time and writes part by more than two."""

AGREES = 0.05
"""Periods of both runs, in the unit that counts, agree within so much."""

CONTROL_BYTES = 4096
"""In the first cache of any processor."""

RESAMPLES = 200
EVIDENCE = "overwrite"


def overwrite(probe: Probe, region_bytes: int, writes: int, rest_ns: float = 0.0) -> Point:
    """Return the point that writes over a region, each write timed."""
    return Point(
        "overwrite",
        KERNEL,
        probe.facts.page_sizes[0],
        region_bytes,
        access_bytes=ACCESS_BYTES,
        rest_ns=rest_ns,
        each=True,
        accesses=writes,
    )


def infer_stalls(probe: Probe, findings: Findings) -> None:
    """Add the stalls."""
    if KERNEL not in probe.facts.kernels:
        findings.not_seen["stalls"] = "this processor has no stores that pass the caches"
        return
    each, found = _enough(probe, 0.0)
    if each is None:
        findings.not_seen["stalls"] = "the time was up"
        return
    findings.evidence[EVIDENCE] = stall_evidence(each, found)
    if found is None:
        findings.not_seen["stalls"] = (
            f"of {len(each)} writes to one place none, or none at a fixed distance, took far longer"
        )
        return
    rest = RESTS * float(np.median(each))
    rested, again = _enough(probe, rest)
    if rested is None or again is None:
        findings.not_seen["stalls"] = "long writes at a fixed distance are gone with rests between"
        return
    if _is_hosts(probe, found, len(each)):
        findings.not_seen["stalls"] = (
            "long accesses at a fixed distance also come where no memory is reached: the host's"
        )
        return
    _decide(probe, found, again, findings)


def _enough(probe: Probe, rest_ns: float) -> tuple[NDArray[np.float64] | None, Stalls | None]:
    """Write longer and longer until enough stalls are seen; return the last row and its stalls."""
    each, found = None, None
    for writes in WRITES:
        if probe.seconds_left() <= 0:
            break
        sample = probe.sample(overwrite(probe, ACCESS_BYTES, writes, rest_ns))
        if sample.each_ns is None:
            break
        each = sample.each_ns.astype(float)
        found = find_stalls(each, _between(probe, rest_ns))
        if found is not None and len(found.indices) >= ENOUGH:
            break
    return each, found


def _between(probe: Probe, rest_ns: float) -> float:
    return rest_ns + probe.facts.timer_overhead_ns


def _is_hosts(probe: Probe, found: Stalls, accesses: int) -> bool:
    """Return whether a loop within the first cache is stalled alike."""
    if probe.facts.llc_bytes == 0:
        return False
    # As long as the row of writes took, so that as many stalls would fall into it.
    point = Point(
        "overwrite",
        "chase",
        probe.facts.page_sizes[0],
        CONTROL_BYTES,
        each=True,
        accesses=8 * accesses,
    )
    sample = probe.sample(point)
    if sample.each_ns is None:
        return True
    control = find_stalls(sample.each_ns.astype(float), _between(probe, 0.0))
    if control is None:
        return False
    length, here = float(np.median(found.lengths_ns)), float(np.median(control.lengths_ns))
    return 0.5 <= here / length <= 2.0


def _decide(probe: Probe, found: Stalls, again: Stalls, findings: Findings) -> None:
    """Say what stalls recur by: what both runs, with and without rests, agree on."""
    wear = _agreed(found.by_writes, again.by_writes)
    refresh = _agreed(found.by_time, again.by_time)
    if (wear is None) == (refresh is None):
        findings.not_seen["stalls"] = (
            "long writes recur, but neither after as many writes nor after as much time"
            if wear is None
            else "long writes recur, and rests do not tell whether by writes or by time"
        )
        return
    lengths = np.concatenate([found.lengths_ns, again.lengths_ns])
    rng = np.random.default_rng(0)
    # A write meets any part of a refresh: the longest ones met all of it.
    quantile = 0.5 if wear is not None else 0.95
    picked = lengths[rng.integers(0, len(lengths), (RESAMPLES, len(lengths)))]
    length_low, length_high = np.percentile(np.quantile(picked, quantile, axis=1), (2.5, 97.5))
    distances = np.concatenate(wear or refresh or ())
    middles = np.median(
        distances[rng.integers(0, len(distances), (RESAMPLES, len(distances)))], axis=1
    )
    middle = float(np.median(distances))
    low, high = np.percentile(middles, (2.5, 97.5))
    granularity = None
    if wear is not None:
        granularity, why = wear_granularity(probe, round(middle))
        if why:
            findings.not_seen["granularity of stalls"] = why
    findings.stalls.append(
        StallFigure(
            length_ns=float(np.quantile(lengths, quantile)),
            length_low_ns=float(length_low),
            length_high_ns=float(length_high),
            period_writes=round(middle) if wear is not None else None,
            period_ns=middle if refresh is not None else None,
            granularity_bytes=granularity,
            low=float(low),
            high=float(high),
            confidence=float(np.mean(np.abs(middles / middle - 1) <= AGREES)),
            evidence=EVIDENCE,
            **HAD,
        )
    )


def _agreed(
    first: Period | None, second: Period | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    if first is None or second is None or abs(first.value / second.value - 1) > AGREES:
        return None
    return first.distances, second.distances


def stall_evidence(each: NDArray[np.float64], found: Stalls | None) -> Evidence:
    """Return the slowest write of each of some thousand stretches, with the stalls marked."""
    stretch = max(len(each) // 2000, 1)
    whole = each[: len(each) // stretch * stretch].reshape(-1, stretch)
    return Evidence(
        group="overwrite",
        title="Slowest of neighbouring writes to one place",
        x_name="writes",
        y_name="time (ns)",
        x=np.arange(len(whole), dtype=np.float64) * stretch,
        y=whole.max(axis=1),
        y_low=np.median(whole, axis=1),
        y_high=whole.max(axis=1),
        knees=tuple(float(one) for one in found.indices) if found else (),
        log_x=False,
    )

"""Load generators: kernels, loads, and the loaded curve."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from msgspec.structs import replace as replace_fields
from numpy.typing import NDArray

from nearfar.base.units import format_count
from nearfar.devices.oddities import detect_oddities
from nearfar.documents.device import LoadedLatencyCurve, Tail
from nearfar.measure.surfaces._drive import generator_of, traffic_per_payload, traffic_share
from nearfar.measure.surfaces._surface import MEASURED_HERE, Samples, SurfacePlan, values
from nearfar.samples.point import Sample, SamplePoint

SHARES = (1.0, 0.75, 0.667, 0.5, 0.25, 0.0)
"""Read shares of all traffic: all, as programs mix, ordinary stores only, nt-stores only."""
QUICK_SHARES = (1.0, 0.5)

MIN_LOADS, QUICK_MIN_LOADS = 6, 3
"""Distinct loads below NEARLY_PEAK: with fewer the curve is a line from idle to saturation."""
NEARLY_PEAK = 0.9
DISTINCT = 0.02
"""Share of the peak by which two loads must differ: bandwidths of one load vary as much."""

TAIL_PERCENTILES = {
    "p50_ns": 50.0,
    "p90_ns": 90.0,
    "p99_ns": 99.0,
    "p99_9_ns": 99.9,
    "p99_99_ns": 99.99,
}


def loads(
    plan: SurfacePlan, timed: SamplePoint, shares: Sequence[float], fractions: Sequence[float]
) -> list[SamplePoint]:
    """Return `timed` without load, with `fractions` of the peak, and with full load.

    `shares` are reads over all traffic; generators without a drive are left out.
    """
    points: list[SamplePoint] = []
    for share in shares:
        generator = generator_of(plan, share)
        drive = plan.drives.get(generator) if generator is not None else None
        if generator is not None and drive is not None:
            kernel, line_share = generator
            points += [
                replace(timed, generator=kernel, read_share=line_share, pause_ns=pause)
                for pause in (None, *drive.pauses_ns(fractions))
            ]
    return points


def few_loads(curve: LoadedLatencyCurve, quick: bool) -> str:
    """Return a warning for a curve with few loads between idle and saturation; else nothing."""
    loads_gb_per_s = sorted(bandwidth for bandwidth, _ in curve.points[1:])
    peak = max(bandwidth for bandwidth, _ in curve.points)
    last, distinct = 0.0, 0
    for bandwidth in loads_gb_per_s:
        if bandwidth < NEARLY_PEAK * peak and bandwidth - last >= DISTINCT * peak:
            last, distinct = bandwidth, distinct + 1
    least = QUICK_MIN_LOADS if quick else MIN_LOADS
    if distinct >= least:
        return ""
    return (
        f"latency of {curve.instruction} under load, {curve.read_share:.0%} reads: only {distinct} "
        f"distinct loads (of {least} at least) lie below {NEARLY_PEAK:.0%} of the {peak:.1f} GB/s "
        "reached, and between them the curve is not known: measure with more --threads, or on a "
        "quieter machine"
    )


def curves(samples: Samples, plan: SurfacePlan, instruction: str) -> list[LoadedLatencyCurve]:
    """Return a curve for each read share, most reads first, points in order of rising load."""
    # A subject that does not report what its generators drew gets no curve. The timed thread alone
    # draws less the longer it waits, which would look like a curve.
    read_shares = {
        _share(point)
        for point, taken in samples.items()
        if point.pause_ns is not None and statistics.median(s.drawn_gb_per_s for s in taken) > 0
    }
    samples = {point: taken for point, taken in samples.items() if _share(point) in read_shares}
    shares = sorted(read_shares, reverse=True)
    shown = [
        _curve({point: taken for point, taken in samples.items() if _share(point) == share}, share)
        for share in shares
    ]
    others = plan.facts.threads - 1
    cores = format_count(others, "core")
    return [_named(curve, point, cores, instruction) for curve, point in shown]


def _named(
    curve: LoadedLatencyCurve, point: SamplePoint, cores: str, instruction: str
) -> LoadedLatencyCurve:
    return replace_fields(
        curve,
        instruction=instruction,
        note=f"load by {cores} running {point.generator}; bandwidth is all traffic, lines read "
        "for ownership and what was timed included",
    )


def _curve(samples: Samples, share: float) -> tuple[LoadedLatencyCurve, SamplePoint]:
    order = sorted({_load(point) for point in samples})
    points: list[tuple[float, float]] = []
    tails: list[Tail] = []
    for load in order:
        here = {point: taken for point, taken in samples.items() if _load(point) == load}
        plain = next((point for point in here if not point.each), None)
        timed = next((point for point in here if point.each), None)
        shown = plain or timed
        assert shown is not None
        drawn = statistics.median(sample.drawn_gb_per_s for sample in here[shown])
        ns = statistics.median(values(here[shown]))
        # Without generators, the timed thread's own traffic counts.
        drawn = max(drawn * _traffic_per_payload(shown), shown.access_bytes / ns)
        points.append((drawn, ns))
        if timed is not None and (tail := _tail(drawn, here[timed])) is not None:
            tails.append(tail)
    curve = LoadedLatencyCurve(
        read_share=share,
        points=points,
        tails=tails if len(tails) == len(points) else [],
        oddities=detect_oddities(points),
        **MEASURED_HERE,
    )
    return curve, next(iter(samples))


def _load(point: SamplePoint) -> tuple[bool, float]:
    """Return the sort key: no load first, then shorter rests."""
    return point.pause_ns is not None, -(point.pause_ns or 0.0)


def _share(point: SamplePoint) -> float:
    if point.read_share is not None:
        return traffic_share(point.generator, point.read_share)
    return {"read": 1.0, "copy-nt": 0.5, "nt-store": 0.0}[point.generator]


def _traffic_per_payload(point: SamplePoint) -> float:
    """Return lines that cross the bus for each line that the generators touch."""
    if point.read_share is None:
        return 1.0
    return traffic_per_payload(point.generator, point.read_share)


def _tail(bandwidth_gb_per_s: float, samples: Sequence[Sample]) -> Tail | None:
    taken: list[NDArray[np.float32]] = [
        sample.each_ns for sample in samples if sample.each_ns is not None and sample.each_ns.size
    ]
    if not taken:
        return None
    times = np.concatenate(taken)
    cuts = np.percentile(times, list(TAIL_PERCENTILES.values()))
    return Tail(
        bandwidth_gb_per_s=bandwidth_gb_per_s,
        accesses=int(times.size),
        **{name: float(cut) for name, cut in zip(TAIL_PERCENTILES, cuts, strict=True)},
    )

"""Traffic and miss curve of one object in one phase at the target.

Misses come from the miss curve if the object has one: a law of the misses themselves does not know
the cache that the data may outgrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.base.estimate import Estimate
from nearfar.base.units import LINE_BYTES
from nearfar.documents.workload import AccessClasses, MissCurve, ObjectTraffic, Traffic
from nearfar.profile.scaling import checks
from nearfar.profile.scaling.curves import CurveSeries, CurveTarget, level, predict_curve
from nearfar.profile.scaling.growth import (
    MIN_HALF_WIDTH,
    ExtrapolationNotes,
    Growth,
    extrapolation_factor,
    grow,
    splits,
)
from nearfar.profile.scaling.joined import JoinedProfiles
from nearfar.profile.traffic import TrafficSum

Array = NDArray[np.float64]

CHANCE_LINES = 4
"""Sampled lines by which a count may be off by chance: 2 sigma of 4 events."""
MAX_MISS_RATE_GROWTH = 2.0
"""Ratio of misses per access at the target to those at the sizes that ran, above which other
instructions may miss."""


@dataclass(frozen=True)
class PhaseSizes:
    """Footprints of one phase at the sizes that ran and at the target."""

    joined: JoinedProfiles
    name: str
    target: float
    footprints: Array
    """Bytes of the objects that have miss curves, by size."""
    footprint: float
    """The same at the target."""

    @property
    def chance(self) -> float:
        """Return the chance error of a count of sampled lines, averaged over several runs."""
        runs = min(self.joined.repeats)
        return float(CHANCE_LINES * self.joined.largest.sampling.rate / runs**0.5)


@dataclass(frozen=True)
class RowAtTarget:
    """One object in one phase at the target."""

    row: ObjectTraffic
    misses: Growth
    read: Array | None
    write: Array | None
    last_predicted: float
    last_known: float
    """Misses of the largest size that ran: predicted from the smaller ones, and known."""


def row_at_target(
    sizes_of_phase: PhaseSizes, number: int, rows: Sequence[TrafficSum], notes: ExtrapolationNotes
) -> RowAtTarget:
    """Extrapolate object `number` from its `rows` at the sizes that ran."""
    joined, phase, target, chance = (
        sizes_of_phase.joined,
        sizes_of_phase.name,
        sizes_of_phase.target,
        sizes_of_phase.chance,
    )
    sizes, largest = joined.sizes, joined.largest
    accesses = grow(sizes, [row.traffic.accesses for row in rows], target, chance)
    notes.add("accesses", accesses, phase, number)
    object_bytes = [
        float(sum(part.size_bytes for part in joined.parts(at, number))) for at in range(len(sizes))
    ]
    misses, read, write, last_misses = _misses(sizes_of_phase, rows, accesses, object_bytes)
    notes.add("misses", misses, phase, number)
    lines = misses.estimate.value
    classes = _classes(rows, chance)
    shift = _miss_rate_growth(rows, lines, accesses.estimate.value)
    if shift > MAX_MISS_RATE_GROWTH and lines > chance:
        notes.warnings.append(
            f"{joined.objects[number].name} misses {shift:.3g} times as often per access in phase "
            f"{phase!r} as at any profiled size: the classes of its misses are those of these sizes"
        )
    cached_lines = (
        largest.cache.size_bytes
        / LINE_BYTES
        * min(1.0, object_bytes[-1] / float(sizes_of_phase.footprints[-1]))
    )
    series = [row.traffic.write_backs for row in rows]
    backs = _write_backs(rows, cached_lines, misses, grow(sizes, series, target, chance))
    notes.add("write-backs", backs, phase, number)
    traffic = Traffic(
        accesses=accesses.estimate.value,
        read_misses=classes.read_misses.times(lines),
        write_misses=classes.write_misses.times(lines),
        read_sequential=classes.read_sequential.times(lines),
        write_sequential=classes.write_sequential.times(lines),
        write_backs=backs.estimate.value,
    )
    curve = None
    if read is not None and write is not None:
        curve = MissCurve(read=read.round(1).tolist(), write=write.round(1).tolist())
    return RowAtTarget(
        ObjectTraffic(object=number, traffic=traffic, curve=curve),
        misses,
        read,
        write,
        *last_misses,
    )


def _misses(
    sizes_of_phase: PhaseSizes,
    rows: Sequence[TrafficSum],
    accesses: Growth,
    object_bytes: Sequence[float],
) -> tuple[Growth, Array | None, Array | None, tuple[float, float]]:
    """Return misses and curves at the target, and the last size's predicted and known misses.

    Without curves, misses follow a law of their own.
    """
    joined, target, chance = sizes_of_phase.joined, sizes_of_phase.target, sizes_of_phase.chance
    cache_bytes = float(joined.largest.cache.size_bytes)
    capacities = np.asarray(joined.largest.curve_bytes, dtype=float)
    places = [at for at, row in enumerate(rows) if row.read is not None]
    known_misses = [row.traffic.misses() for row in rows]
    inside = capacities.size and capacities[0] <= cache_bytes <= capacities[-1]
    if len(places) < checks.MIN_SIZES or places[-1] != len(rows) - 1 or not inside:
        by_law = grow(joined.sizes, known_misses, target, chance, accesses.law)
        off = float(np.exp(min(by_law.mean_error, 20.0)))
        return by_law, None, None, (known_misses[-1] * off, known_misses[-1])
    lines = np.array([object_bytes[at] * joined.repeats[at] for at in places])
    lines = lines / LINE_BYTES / joined.largest.sampling.rate
    curves = CurveSeries(
        sizes=np.asarray(joined.sizes, dtype=float)[places],
        read=np.array([rows[at].read for at in places], dtype=float),
        write=np.array([rows[at].write for at in places], dtype=float),
        footprints=sizes_of_phase.footprints[places],
        capacities=capacities,
        noise=1.0 / np.sqrt(np.maximum(lines, 1.0)),
        floor=chance,
    )
    predicted = predict_curve(
        curves, CurveTarget(target, sizes_of_phase.footprint, cache_bytes, accesses.law)
    )
    value = level(predicted.read + predicted.write, capacities, cache_bytes)
    sizes = [joined.sizes[at] for at in places]
    half = max(
        MIN_HALF_WIDTH,
        2.0 * float(curves.noise[-1]),
        predicted.held_out_error * extrapolation_factor(sizes, target, splits(sizes, target)),
    )
    low = value * min(float(np.exp(-half)), predicted.low_factor) - chance
    high = value * max(float(np.exp(half)), predicted.high_factor) + chance
    # No line misses more often than it is touched.
    estimate = Estimate(value, max(0.0, low), max(value, min(high, accesses.estimate.high)))
    growth = Growth(predicted.law, predicted.held_out_error, predicted.mean_error, estimate)
    return growth, predicted.read, predicted.write, (predicted.last_predicted, predicted.last_known)


def _classes(rows: Sequence[TrafficSum], chance: float) -> Traffic:
    """Return the share of each class in the misses of the largest size that has enough misses."""
    for row in reversed(rows):
        total = row.traffic.misses()
        if total > chance or (row is rows[0] and total > 0):
            per_miss = 1.0 / total
            return Traffic(
                read_misses=row.traffic.read_misses.times(per_miss),
                write_misses=row.traffic.write_misses.times(per_miss),
                read_sequential=row.traffic.read_sequential.times(per_miss),
                write_sequential=row.traffic.write_sequential.times(per_miss),
            )
    return Traffic(read_misses=AccessClasses(opaque=1.0))


def _miss_rate_growth(rows: Sequence[TrafficSum], misses: float, accesses: float) -> float:
    """Return misses per access at the target over the highest at any size that ran."""
    seen = max(
        (r.traffic.misses() / r.traffic.accesses for r in rows if r.traffic.accesses), default=0
    )
    return misses / accesses / seen if seen and accesses else 1.0


def _write_backs(
    rows: Sequence[TrafficSum], cached_lines: float, misses: Growth, by_law: Growth
) -> Growth:
    """Extrapolate write-backs as a number per miss, bounded by the largest size's.

    Dirty lines still in cache at the end were not written back: at most `cached_lines`. What the
    phase never writes was left dirty by earlier phases. `by_law`: write-backs by their own law.
    """
    last = rows[-1]
    missed = last.traffic.misses()
    written = last.write is not None and float(last.write[0]) > 0
    miss_estimate = misses.estimate
    if last.write is None or last.read is None or not written or not missed:
        left = last.traffic.write_backs
        return Growth(
            "left by phases before", 0.0, 0.0, Estimate(left, 0.0, max(left, cached_lines))
        )
    low = min(1.0, last.traffic.write_backs / missed)
    high = min(1.0, (last.traffic.write_backs + cached_lines) / missed)
    # Share of writes among the touches that reach beyond the nearest caches.
    stores = float(last.write[0]) / float(last.write[0] + last.read[0])
    share = min(high, max(low, stores))
    law_value = by_law.estimate.value
    return Growth(
        f"{share:.3g} a miss",
        misses.held_out_error,
        misses.mean_error,
        Estimate(
            share * miss_estimate.value,
            min(
                low * miss_estimate.low, max(by_law.estimate.low, 0.0), share * miss_estimate.value
            ),
            max(
                high * miss_estimate.high,
                share * miss_estimate.value,
                min(law_value, miss_estimate.high),
            ),
        ),
    )

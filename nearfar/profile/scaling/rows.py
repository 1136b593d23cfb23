"""One object in one phase: its accesses, misses, write-backs and curve at the target.

Misses come from the miss curve where there is one: a law of the misses themselves would know
nothing of the cache that the data are about to outgrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.base.statistics import Estimate
from nearfar.base.units import LINE_BYTES
from nearfar.documents.workload import AccessClasses, MissCurve, ObjectTraffic, Traffic
from nearfar.profile.scaling import checks
from nearfar.profile.scaling.curves import Asked, Curves, level, predict_curve
from nearfar.profile.scaling.growth import LEAST_HALF_WIDTH, Growth, Notes, further, grow, splits
from nearfar.profile.scaling.joined import Joined
from nearfar.profile.traffic import Row

Array = NDArray[np.float64]

BY_CHANCE_LINES = 4
"""Sampled lines that a count may be off by without it meaning anything: 2 sigma of 4 events."""
OTHER_REGIME = 2.0
"""Misses an access, over those seen, from which other code may miss than did."""


@dataclass(frozen=True)
class InPhase:
    """A phase at the sizes that ran and at the target."""

    joined: Joined
    name: str
    target: float
    footprints: Array
    """Bytes of the objects that have miss curves, by size."""
    footprint: float
    """At the target."""

    @property
    def chance(self) -> float:
        """Return what a count of sampled lines, the mean of several runs, may be off by."""
        runs = min(self.joined.repeats)
        return float(BY_CHANCE_LINES * self.joined.largest.sampling.rate / runs**0.5)


@dataclass(frozen=True)
class RowAtTarget:
    """What an object comes to in one phase."""

    row: ObjectTraffic
    misses: Growth
    read: Array | None
    write: Array | None
    last_predicted: float
    last_known: float
    """Misses of the largest size that ran: predicted from the smaller ones, and known."""


def row_at_target(where: InPhase, number: int, rows: Sequence[Row], notes: Notes) -> RowAtTarget:
    """Return what object `number` comes to, from its `rows` at the sizes that ran."""
    joined, phase, target, chance = where.joined, where.name, where.target, where.chance
    sizes, largest = joined.sizes, joined.largest
    accesses = grow(sizes, [row.traffic.accesses for row in rows], target, chance)
    notes.add("accesses", accesses, phase, number)
    own_bytes = [
        float(sum(part.size_bytes for part in joined.parts(at, number))) for at in range(len(sizes))
    ]
    misses, read, write, last = _misses(where, rows, accesses, own_bytes)
    notes.add("misses", misses, phase, number)
    lines = misses.estimate.value
    classes = _classes(rows, chance)
    shift = _shift(rows, lines, accesses.estimate.value)
    if shift > OTHER_REGIME and lines > chance:
        notes.warnings.append(
            f"{joined.objects[number].name} misses {shift:.3g} times as often an access in phase "
            f"{phase!r} as at any size profiled: the classes of its misses are those seen there"
        )
    held = (
        largest.cache.size_bytes
        / LINE_BYTES
        * min(1.0, own_bytes[-1] / float(where.footprints[-1]))
    )
    series = [row.traffic.write_backs for row in rows]
    backs = _write_backs(rows, held, misses, grow(sizes, series, target, chance))
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
        ObjectTraffic(object=number, traffic=traffic, curve=curve), misses, read, write, *last
    )


def _misses(
    where: InPhase, rows: Sequence[Row], accesses: Growth, own_bytes: Sequence[float]
) -> tuple[Growth, Array | None, Array | None, tuple[float, float]]:
    """Return misses at the target, the curves, and misses of the last size held out and known.

    By their own law where there are no curves.
    """
    joined, target, chance = where.joined, where.target, where.chance
    cache_bytes = float(joined.largest.cache.size_bytes)
    capacities = np.asarray(joined.largest.curve_bytes, dtype=float)
    places = [at for at, row in enumerate(rows) if row.read is not None]
    simulated = [row.traffic.misses() for row in rows]
    inside = capacities.size and capacities[0] <= cache_bytes <= capacities[-1]
    if len(places) < checks.FEWEST_SIZES or places[-1] != len(rows) - 1 or not inside:
        own = grow(joined.sizes, simulated, target, chance, accesses.law)
        off = float(np.exp(min(own.mean_error, 20.0)))
        return own, None, None, (simulated[-1] * off, simulated[-1])
    lines = np.array([own_bytes[at] * joined.repeats[at] for at in places])
    lines = lines / LINE_BYTES / joined.largest.sampling.rate
    curves = Curves(
        sizes=np.asarray(joined.sizes, dtype=float)[places],
        read=np.array([rows[at].read for at in places], dtype=float),
        write=np.array([rows[at].write for at in places], dtype=float),
        footprints=where.footprints[places],
        capacities=capacities,
        noise=1.0 / np.sqrt(np.maximum(lines, 1.0)),
        floor=chance,
    )
    found = predict_curve(curves, Asked(target, where.footprint, cache_bytes, accesses.law))
    here = level(found.read + found.write, capacities, cache_bytes)
    sizes = [joined.sizes[at] for at in places]
    half = max(
        LEAST_HALF_WIDTH,
        2.0 * float(curves.noise[-1]),
        found.held_out_error * further(sizes, target, splits(sizes, target)),
    )
    low = here * min(float(np.exp(-half)), found.low_factor) - chance
    high = here * max(float(np.exp(half)), found.high_factor) + chance
    # No line misses more often than it is touched.
    ends = Estimate(here, max(0.0, low), max(here, min(high, accesses.estimate.high)))
    growth = Growth(found.law, found.held_out_error, found.mean_error, ends)
    return growth, found.read, found.write, (found.last_predicted, found.last_known)


def _classes(rows: Sequence[Row], chance: float) -> Traffic:
    """Return each class's share of misses, from the largest size with enough of them."""
    for row in reversed(rows):
        total = row.traffic.misses()
        if total > chance or (row is rows[0] and total > 0):
            one = 1.0 / total
            return Traffic(
                read_misses=row.traffic.read_misses.times(one),
                write_misses=row.traffic.write_misses.times(one),
                read_sequential=row.traffic.read_sequential.times(one),
                write_sequential=row.traffic.write_sequential.times(one),
            )
    return Traffic(read_misses=AccessClasses(opaque=1.0))


def _shift(rows: Sequence[Row], misses: float, accesses: float) -> float:
    """Return by how much more often an access misses than at any size that ran."""
    seen = max(
        (r.traffic.misses() / r.traffic.accesses for r in rows if r.traffic.accesses), default=0
    )
    return misses / accesses / seen if seen and accesses else 1.0


def _write_backs(rows: Sequence[Row], held: float, misses: Growth, own: Growth) -> Growth:
    """Return write-backs: as many a miss as at the largest size, or as many as were still due.

    Dirty lines that were in cache at the end had not been written back: at most the `held` ones.
    What the phase never writes was left by the phases before. `own` is their own law's.
    """
    last = rows[-1]
    missed = last.traffic.misses()
    written = last.write is not None and float(last.write[0]) > 0
    ends = misses.estimate
    if last.write is None or last.read is None or not written or not missed:
        left = last.traffic.write_backs
        return Growth("left by phases before", 0.0, 0.0, Estimate(left, 0.0, max(left, held)))
    low = min(1.0, last.traffic.write_backs / missed)
    high = min(1.0, (last.traffic.write_backs + held) / missed)
    # Of the touches that reach beyond the nearest caches, those that write.
    stores = float(last.write[0]) / float(last.write[0] + last.read[0])
    share = min(high, max(low, stores))
    at_first = own.estimate.value
    return Growth(
        f"{share:.3g} a miss",
        misses.held_out_error,
        misses.mean_error,
        Estimate(
            share * ends.value,
            min(low * ends.low, max(own.estimate.low, 0.0), share * ends.value),
            max(high * ends.high, share * ends.value, min(at_first, ends.high)),
        ),
    )

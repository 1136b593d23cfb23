"""A phase's traffic as arrays: one row per object, one column per kind of line.

Loads, stores and streams are kept apart because they wait differently: a load holds up what
needs its value, a store waits in the store buffer, a stream is fetched ahead by the prefetcher.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import hypot, inf

import numpy as np
from numpy.typing import NDArray

from nearfar.base.errors import NearfarError, nearest
from nearfar.base.estimate import Estimate
from nearfar.base.units import LINE_BYTES, PAGE_BYTES
from nearfar.documents.workload import AccessClasses, MemoryObject, Phase, Traffic, WorkloadProfile
from nearfar.predict.recorded import RecordedBursts, recorded_bursts

Array = NDArray[np.float64]

CHASE, INDEPENDENT, STREAM, STORE, STORE_STREAM, WRITE_BACK, WRITE_BACK_STREAM, HITS = range(8)
FLUSH, FENCE, NT_LINE = range(8, 11)
COLUMNS = 11
"""Columns of a traffic array. Lines, but for `HITS`: accesses that some cache answered, and
`FENCE`: fences.

chase: the address was loaded by the access before. independent: indirect, opaque. store: lines
fetched because a store missed. `*_STREAM`: addresses that advance by a constant. flush, nt_line:
lines written to memory on purpose, through the caches and past them.
"""


TRAINING_LINES = 2.0
"""Lines of a stream before a prefetcher follows it: it must see two misses to know a direction.
A stream within an allocation of few lines is hardly one: its lines are fetched on demand."""


FEWEST_OTHERS = 0.05
"""Of streams' misses: so many others at least say how often they walk."""

MOSTLY = 0.5
"""More than half of an object's misses in sequence make its instructions streams."""


@dataclass(frozen=True, eq=False)
class PhaseMissCurve:
    """Misses of a phase by size of the cache, of fully associative caches."""

    sizes_bytes: Array
    misses: Array
    """Never rising."""
    here_bytes: int
    """The cache that was simulated."""

    def at(self, size_bytes: float) -> float:
        """Return the misses of a cache of this size, straight over its logarithm."""
        return float(np.interp(np.log2(size_bytes), np.log2(self.sizes_bytes), self.misses))

    @cached_property
    def accesses(self) -> Array:
        """By step from one size to the next: accesses that reuse their line at such a distance."""
        return np.maximum(-np.diff(self.misses), 0.0)

    @cached_property
    def log_distances(self) -> Array:
        """Of each step its middle, log2 of bytes."""
        return np.log2(self.sizes_bytes[:-1] * self.sizes_bytes[1:]) / 2.0


@dataclass(frozen=True, eq=False)
class PhaseTraffic:
    """One phase, ready for models."""

    name: str
    near_time_ns: Estimate
    """CPU time of all threads with everything in near memory."""
    concurrency: float
    """Threads that ran at once on average: CPU time over wall time, at least 1."""
    operations: float | None
    objects: Array
    """Shape (objects, COLUMNS)."""
    sampling_error: float
    """Relative 95 % half-width of the counts that sampling implies."""
    streams: float = 1.0
    """Streams that advance together, see `streams_at_once`."""
    curve: PhaseMissCurve | None = None
    """Misses that other caches would have; None where the profile does not say."""
    extrapolated: tuple[float, float] = (1.0, 1.0)
    """Ends of the interval of all lines over their value, where nobody ran this size."""
    bursts: RecordedBursts | None = None
    """Short stretches in full; None where the profile has none."""
    flushes_counted: bool = False
    """Whether flushes, fences and non-temporal stores were looked for: 0 says there are none."""
    walks_per_miss: float | None = None
    """Page walks for each miss that no stream makes, if all pages have 4 KiB; None: not counted."""
    walks_apart: float = 1.0
    """Of these, the share that reads a line of a page table which none just before has read."""
    walked_bytes: float = inf
    """What the walks go to: as many bytes as are walked for, see `_walked_bytes`."""
    translated_bytes: float = 0.0
    """Of it, what translations are kept for."""

    @property
    def lines_range(self) -> tuple[float, float]:
        """Return the 95 % interval of the counts over their value."""
        low, high = self.extrapolated
        return 1.0 - hypot(self.sampling_error, 1.0 - low), 1.0 + hypot(
            self.sampling_error, high - 1.0
        )

    @cached_property
    def total(self) -> Array:
        """The whole phase's traffic, shape (COLUMNS,)."""
        return np.asarray(self.objects.sum(axis=0))


def phases_of(workload: WorkloadProfile, names: list[str] | None = None) -> list[PhaseTraffic]:
    """Return the traffic of every phase, or of those in `names`; an unknown name is refused."""
    known = [phase.name for phase in workload.phases]
    for name in names or []:
        if name not in known:
            hint = nearest(name, known) or f"; there are: {', '.join(known)}"
            raise NearfarError(f"the profile has no phase {name!r}{hint}")
    if not known:
        raise NearfarError("the profile has no phases: profile the program again")
    return [
        _phase(workload, phase) for phase in workload.phases if not names or phase.name in names
    ]


def misses(lines: Array) -> Array:
    """Return lines fetched from memory; over the last axis."""
    return np.asarray(lines[..., CHASE : STORE_STREAM + 1].sum(axis=-1))


def write_backs(lines: Array) -> Array:
    """Return lines written back to memory; over the last axis."""
    return np.asarray(lines[..., WRITE_BACK] + lines[..., WRITE_BACK_STREAM])


def read_share(lines: Array) -> float:
    """Return reads over all traffic of one phase, 0..1; 1 where there is no traffic."""
    reads, writes = float(misses(lines)), float(write_backs(lines))
    return reads / (reads + writes) if reads + writes > 0 else 1.0


def _phase(workload: WorkloadProfile, phase: Phase) -> PhaseTraffic:
    lines = np.zeros((len(workload.objects), COLUMNS))
    if phase.objects:
        numbers = np.array([row.object for row in phase.objects])
        wrong = numbers[(numbers < 0) | (numbers >= len(lines))]
        if wrong.size:
            raise NearfarError(
                f"phase {phase.name!r} of the profile counts object {wrong[0]}, and the profile "
                f"has {len(lines)} objects: it is damaged; profile the program again"
            )
        demand = np.array([_demand_share(thing) for thing in workload.objects])[numbers]
        with np.errstate(invalid="ignore"):
            found = _rows([row.traffic for row in phase.objects], demand)
        np.add.at(lines, numbers, found)
    if not np.all(np.isfinite(lines)) or lines.min(initial=0.0) < 0:
        raise NearfarError(
            f"phase {phase.name!r} of the profile has counts that are negative or not numbers: "
            "it is damaged; profile the program again"
        )
    time = phase.near_cpu_time_ns
    if not all(np.isfinite(end) and end >= 0.0 for end in (time.value, time.low, time.high)):
        raise NearfarError(
            f"near time of phase {phase.name!r} of the profile is negative or no number "
            f"({time.value:g} ns): it is damaged; profile the program again"
        )
    wall = phase.near_wall_time_ns
    concurrency = phase.near_cpu_time_ns.value / wall if wall > 0 else 1.0
    return PhaseTraffic(
        name=phase.name,
        near_time_ns=phase.near_cpu_time_ns,
        concurrency=min(max(1.0, concurrency), max(1.0, float(workload.program.threads_seen))),
        operations=phase.operations,
        objects=lines,
        sampling_error=workload.sampling.relative_error,
        streams=streams_at_once(workload, phase),
        curve=_curve(workload, phase),
        extrapolated=extrapolated_lines(workload, phase.name),
        bursts=recorded_bursts(workload, phase.name),
        flushes_counted=workload.flushes_counted,
        walks_per_miss=None if workload.core is None else _walks_per_miss(phase, lines),
        walks_apart=_walks_apart(workload, phase.name),
        walked_bytes=_walked_bytes(workload, phase),
        translated_bytes=0.0 if workload.core is None else workload.core.tlb_entries * PAGE_BYTES,
    )


def _walked_bytes(workload: WorkloadProfile, phase: Phase) -> float:
    """Return how large the data are that a phase's walks go to.

    Of each object all that was alive, but no more than a page for each walk.
    """
    return sum(
        min(
            float(workload.objects[row.object].peak_live_bytes),
            row.traffic.tlb_misses_4k * PAGE_BYTES,
        )
        for row in phase.objects
    )


def _walks_apart(workload: WorkloadProfile, phase: str) -> float:
    """Return what bursts say of the order of a phase's walks; 1 where there are none."""
    bursts = [] if workload.bursts is None else workload.bursts.phases
    found = [one.walks_apart for one in bursts if one.phase == phase]
    return 1.0 if not found or found[0] is None else found[0]


def _walks_per_miss(phase: Phase, lines: Array) -> float | None:
    """Return page walks over misses, streams left out of both: they walk once a page.

    None where nearly all misses are streams': there are too few others to know.
    """
    total = lines.sum(axis=0)
    streamed = float(total[STREAM] + total[STORE_STREAM])
    others = float(misses(total)) - streamed
    if others <= FEWEST_OTHERS * streamed or others <= 0.0:
        return None
    walks = sum(row.traffic.tlb_misses_4k for row in phase.objects)
    return max(walks - streamed * LINE_BYTES / PAGE_BYTES, 0.0) / others


def extrapolated_lines(workload: WorkloadProfile, phase: str) -> tuple[float, float]:
    """Return the ends of a phase's lines over their value; (1, 1) for a profile of what was run.

    Objects' ends are added, not joined as if independent: one law too steep is so for all.
    """
    if workload.extrapolation is None:
        return (1.0, 1.0)
    found = [
        one.estimate
        for one in workload.extrapolation.quantities
        if one.phase == phase and one.quantity in ("misses", "write-backs")
    ]
    value = sum(one.value for one in found)
    if value <= 0.0:
        return (1.0, 1.0)
    low, high = sum(one.low for one in found) / value, sum(one.high for one in found) / value
    return min(1.0, low), max(1.0, high)


def _curve(workload: WorkloadProfile, phase: Phase) -> PhaseMissCurve | None:
    rows = [row.curve for row in phase.objects if row.curve is not None]
    if not rows or not workload.curve_bytes:
        return None
    return PhaseMissCurve(
        np.asarray(workload.curve_bytes),
        np.asarray([[*row.read] for row in rows]).sum(axis=0)
        + np.asarray([[*row.write] for row in rows]).sum(axis=0),
        workload.cache.size_bytes,
    )


def streams_at_once(workload: WorkloadProfile, phase: Phase) -> float:
    """Return how many streams advance together: stream instructions, by their misses.

    The inverse of the sum of squared shares: three that miss alike are three, and one beside which
    two hardly miss is one. Instructions of another class count where most misses of their object
    were seen in sequence. 1 where the profile does not say.
    """
    sequential = {
        row.object
        for row in phase.objects
        if row.traffic.read_sequential.total() + row.traffic.write_sequential.total()
        > MOSTLY * row.traffic.misses()
    }
    lines: dict[tuple[int, int], float] = {}
    for row in phase.instructions:
        streams = workload.instructions[row.instruction].access_class == "stream"
        if streams or row.object in sequential:
            key = (row.instruction, row.object)
            lines[key] = lines.get(key, 0.0) + max(row.misses, 0.0)
    every = sum(lines.values())
    return every**2 / sum(n**2 for n in lines.values()) if every > 0.0 else 1.0


def _demand_share(thing: MemoryObject) -> float:
    """Return the share of an object's stream misses that no prefetcher sees coming.

    Streams end where allocations do: the mean allocation bounds their length.
    """
    if thing.kind != "heap" or thing.allocations <= 0 or thing.allocated_bytes <= 0:
        return 0.0
    return min(1.0, TRAINING_LINES * LINE_BYTES * thing.allocations / thing.allocated_bytes)


def _rows(traffics: list[Traffic], demand_shares: Array) -> Array:
    """Return the columns of each traffic, shape (rows, COLUMNS); all rows at once for speed."""
    read, read_in_sequence, write, write_in_sequence = (
        _classes([getattr(traffic, name) for traffic in traffics])
        for name in ("read_misses", "read_sequential", "write_misses", "write_sequential")
    )
    # A sync is a flush that is waited for; how many of its page's lines were dirty nobody knows.
    accesses, backs, flushes, fences, nt_bytes = np.array(
        [
            (t.accesses, t.write_backs, t.flushes + t.syncs, t.fences + t.syncs, t.nt_store_bytes)
            for t in traffics
        ],
        dtype=float,
    ).T
    read = _as_prefetched(read, read_in_sequence)
    write = _as_prefetched(write, write_in_sequence)
    read_stream, write_stream = read[STREAMED], write[STREAMED]
    on_demand, store_on_demand = read_stream * demand_shares, write_stream * demand_shares
    stores = write.sum(axis=0)
    lines = read.sum(axis=0) + stores
    # A line is written back as it was written: in a stream or not. Where no store missed (each
    # line was loaded first), all misses say which.
    streamed = np.where(stores > 0, _share(write_stream, stores), _share(read_stream, lines))
    # Hits beside a stream cost what the stream's arithmetic costs; only the others hold up a
    # chain of loads, and only those are of use (see models/inversion).
    hits = np.maximum(0.0, accesses - lines) * (1.0 - _share(read_stream + write_stream, lines))
    found = np.empty((len(traffics), COLUMNS))
    found[:, CHASE] = read[CHASED]
    found[:, INDEPENDENT] = read[INDIRECT] + read[OPAQUE] + on_demand
    found[:, STREAM] = read_stream - on_demand
    found[:, STORE] = stores - write_stream + store_on_demand
    found[:, STORE_STREAM] = write_stream - store_on_demand
    found[:, WRITE_BACK] = backs * (1.0 - streamed)
    found[:, WRITE_BACK_STREAM] = backs * streamed
    found[:, HITS] = hits
    found[:, FLUSH], found[:, FENCE], found[:, NT_LINE] = flushes, fences, nt_bytes / LINE_BYTES
    return found


CHASED, INDIRECT, STREAMED, OPAQUE = range(4)


def _classes(found: list[AccessClasses]) -> Array:
    """Return counts by class, shape (4, rows)."""
    return np.array([(c.chase, c.indirect, c.stream, c.opaque) for c in found], dtype=float).T


def _as_prefetched(lines: Array, in_sequence: Array) -> Array:
    """Return misses by what a prefetcher makes of them: those seen in sequence are streams."""
    moved = np.minimum(in_sequence, lines)
    moved[STREAMED] = 0.0
    found = lines - moved
    found[STREAMED] += moved.sum(axis=0)
    return found


def _share(part: Array, whole: Array) -> Array:
    """Return part over whole, 0 where there is nothing."""
    return np.asarray(part / np.where(whole > 0, whole, 1.0))

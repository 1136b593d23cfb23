"""A profile's phases as traffic for models (`PhaseTraffic`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import msgspec
import numpy as np

from nearfar.base.errors import NearfarError, nearest
from nearfar.base.units import LINE_BYTES, PAGE_BYTES
from nearfar.documents.workload import Phase, WorkloadProfile
from nearfar.predict.counts import PhaseCounts, counts_of, listed_misses
from nearfar.predict.rows import demand_share, traffic_rows, unseen_sequences
from nearfar.predict.traffic import (
    COLUMNS,
    Array,
    CountedIntervals,
    PageTouches,
    PhaseMissCurve,
    PhaseTraffic,
    RecordedBursts,
    misses,
    streamed,
)

UNSAMPLED_MISSES = 3.0
"""Misses of which none may be sampled by chance, with 95 % confidence."""

MIN_OTHERS_SHARE = 0.05
"""Minimum of misses outside streams, over those of streams, that shows how often they walk."""

MIN_INTERVAL_NS = 1.0
"""Least CPU time of a counted interval, ns."""

MIN_SEQUENTIAL_SHARE = 0.5
"""Share of an object's misses in sequence above which its instructions count as streams."""


def check_phase_names(workload: WorkloadProfile, names: Sequence[str]) -> None:
    """Raise NearfarError for a name that no phase has."""
    known = [phase.name for phase in workload.phases]
    for name in names:
        if name not in known:
            hint = nearest(name, known) or f"; there are: {', '.join(known)}"
            raise NearfarError(f"the profile has no phase {name!r}{hint}")


def phases_of(workload: WorkloadProfile, names: list[str] | None = None) -> list[PhaseTraffic]:
    """Return the traffic of every phase, or of those in `names`.

    Raises NearfarError for an unknown name and for a damaged profile.
    """
    check_phase_names(workload, names or [])
    if not workload.phases:
        raise NearfarError("the profile has no phases: profile the program again")
    all_listed = cache(lambda: listed_misses(workload))
    return [
        _phase(workload, phase, counts_of(workload, phase, all_listed))
        for phase in workload.phases
        if not names or phase.name in names
    ]


def busy_threads(phases: Sequence[Phase]) -> float:
    """Return the mean number of threads that compute at once, at least 1; 1 without wall times."""
    wall_ns = sum(phase.near_wall_time_ns for phase in phases)
    cpu_ns = sum(phase.near_cpu_time_ns.value for phase in phases)
    return max(1.0, cpu_ns / wall_ns) if wall_ns > 0 else 1.0


def _phase(workload: WorkloadProfile, phase: Phase, counts: PhaseCounts) -> PhaseTraffic:
    """Return the traffic of a phase by the counts that `counts_of` chose."""
    profiled = phase
    phase = msgspec.structs.replace(phase, objects=list(counts.objects))
    lines = _lines(workload, phase)
    time = phase.near_cpu_time_ns
    if not all(np.isfinite(end) and end >= 0.0 for end in (time.value, time.low, time.high)):
        raise NearfarError(
            f"near time of phase {phase.name!r} is {time.value:g} ns in the profile, expected a "
            "number of at least 0: the profile is damaged; profile the program again"
        )
    if time.low > time.high:
        raise NearfarError(
            f"near time of phase {phase.name!r} is {time.low:g} to {time.high:g} ns in the "
            "profile, which ends before it begins: the profile is damaged; profile the program "
            "again"
        )
    core = workload.core
    touches = _page_touches(workload, phase, profiled)
    concurrency = min(busy_threads([phase]), max(1.0, float(workload.program.threads_seen)))
    translated = 0.0 if core is None else float(core.tlb_entries * PAGE_BYTES)
    return PhaseTraffic(
        name=phase.name,
        near_time_ns=phase.near_cpu_time_ns,
        concurrency=concurrency,
        operations=phase.operations,
        objects=lines,
        sampling_error=workload.sampling.relative_error,
        streams=concurrent_streams(workload, phase),
        curve=_curve(workload, phase),
        extrapolated=extrapolated_lines(workload, phase.name),
        other_counts=counts.range,
        uncounted_share=1.0 if counts.unseen else workload.uncounted_share,
        unseen_share=1.0 if workload.seen_share_at_most else 1.0 - workload.seen_share,
        unsampled_lines=_unsampled_lines(workload),
        unseen_sequences=unseen_sequences(workload, phase, lines),
        remarks=counts.remarks,
        bursts=_bursts(workload, phase.name),
        flushes_counted=workload.flushes_counted,
        walks_per_miss=None
        if core is None
        else _walks_per_miss(phase, lines, touches, translated * concurrency),
        walks_apart=_walks_apart(workload, phase.name),
        walked_bytes=_walked_bytes(workload, phase),
        translated_bytes=translated,
        page_touches=touches,
        intervals=_intervals(phase),
    )


def _intervals(phase: Phase) -> CountedIntervals | None:
    """Return the counts by interval, if the phase is a whole program with counted intervals.

    Intervals without CPU time, which have no rates, are left out: the model scales the others'
    counts to the phase's total.
    """
    rows = [
        interval
        for entry in phase.objects
        for interval in entry.intervals
        if (interval.cpu_time_ns or 0.0) >= MIN_INTERVAL_NS
    ]
    if not rows:
        return None

    def column(name: str) -> Array:
        return np.array([getattr(row, name) or 0.0 for row in rows], dtype=float)

    near_ns = column("cpu_time_ns")
    wall_ns = 1e9 * (column("end_s") - column("begin_s"))
    stalled = all(row.memory_stall_cycles is not None and row.cycles for row in rows)
    return CountedIntervals(
        near_ns=near_ns,
        concurrency=np.maximum(1.0, near_ns / np.maximum(wall_ns, 1.0)),
        waiting=column("llc_misses"),
        lines=column("read_bytes") / LINE_BYTES,
        written=column("write_bytes") / LINE_BYTES,
        stalled_ns=near_ns * column("memory_stall_cycles") / column("cycles") if stalled else None,
    )


def _unsampled_lines(workload: WorkloadProfile) -> float:
    """Return the misses that a phase may have although none was sampled; 0: the cache holds all.

    If no miss was sampled, up to three would have been plausible (95 %), each for `rate` lines.
    """
    footprint = sum(memory.size_bytes for memory in workload.objects)
    known = workload.cache.origin not in ("code", "counters")
    if known and footprint <= workload.cache.size_bytes:
        return 0.0
    return UNSAMPLED_MISSES * workload.sampling.rate


def _lines(workload: WorkloadProfile, phase: Phase) -> Array:
    """Return the phase's traffic, shape (objects, COLUMNS)."""
    lines = np.zeros((len(workload.objects), COLUMNS))
    if phase.objects:
        numbers = np.array([row.object for row in phase.objects])
        unknown = numbers[(numbers < 0) | (numbers >= len(lines))]
        if unknown.size:
            raise NearfarError(
                f"phase {phase.name!r} of the profile counts object {unknown[0]}, and the profile "
                f"has {len(lines)} objects: it is damaged; profile the program again"
            )
        demand = np.array([demand_share(entry) for entry in workload.objects])[numbers]
        with np.errstate(invalid="ignore"):
            rows = traffic_rows([row.traffic for row in phase.objects], demand)
        if np.bincount(numbers).max() == 1:
            lines[numbers] = rows
        else:
            np.add.at(lines, numbers, rows)
    if not np.all(np.isfinite(lines)) or lines.min(initial=0.0) < 0:
        raise NearfarError(
            f"phase {phase.name!r} of the profile has counts that are negative or not numbers: "
            "it is damaged; profile the program again"
        )
    return lines


def concurrent_streams(workload: WorkloadProfile, phase: Phase) -> float:
    """Return how many streams advance together: stream instructions, weighted by their misses.

    The number is the inverse of the sum of squared shares: three instructions that miss equally
    count as three, of which two hardly miss as one. An instruction of another class counts if most
    misses of its object are in sequence. The result is 1 if the profile has no instructions.
    """
    sequential = {
        row.object
        for row in phase.objects
        if row.traffic.read_sequential.total() + row.traffic.write_sequential.total()
        > MIN_SEQUENTIAL_SHARE * row.traffic.misses()
    }
    lines: dict[tuple[int, int], float] = {}
    for row in phase.instructions:
        is_stream = workload.instructions[row.instruction].access_class == "stream"
        if is_stream or row.object in sequential:
            key = (row.instruction, row.object)
            lines[key] = lines.get(key, 0.0) + max(row.misses, 0.0)
    total = sum(lines.values())
    return total**2 / sum(n**2 for n in lines.values()) if total > 0.0 else 1.0


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


def extrapolated_lines(workload: WorkloadProfile, phase: str) -> tuple[float, float]:
    """Return the ends of a phase's lines over their value; (1, 1) for a profile of a real run.

    The ends of objects are added, not joined as if independent: a law of growth that is too steep
    is too steep for all objects.
    """
    if workload.extrapolation is None:
        return (1.0, 1.0)
    estimates = [
        quantity.estimate
        for quantity in workload.extrapolation.quantities
        if quantity.phase == phase and quantity.quantity in ("misses", "write-backs")
    ]
    value = sum(estimate.value for estimate in estimates)
    if value <= 0.0:
        return (1.0, 1.0)
    low = sum(estimate.low for estimate in estimates) / value
    high = sum(estimate.high for estimate in estimates) / value
    return min(1.0, low), max(1.0, high)


def of_another_build(workload: WorkloadProfile) -> bool:
    """Return whether the bursts were recorded with another build than near time was measured."""
    recorded = "" if workload.bursts is None else workload.bursts.build_digest
    timed = workload.program.plain_digest
    return bool(recorded and timed) and recorded != timed


def _bursts(workload: WorkloadProfile, phase: str) -> RecordedBursts | None:
    if workload.bursts is None or of_another_build(workload):
        return None
    for number, bursts in enumerate(workload.bursts.phases):
        if bursts.phase == phase and bursts.bursts:
            return RecordedBursts(workload.bursts, number)
    return None


def _page_touches(workload: WorkloadProfile, phase: Phase, profiled: Phase) -> PageTouches | None:
    """Return how the phase returns to pages; None: not counted.

    If other counts replaced those of the objects, page curves lack the accesses in between.
    """
    curves = [row.page_curve for row in phase.objects if row.page_curve is not None]
    if not workload.page_curve_bytes or not curves:
        return None
    lines, own = (sum(row.traffic.misses() for row in each.objects) for each in (phase, profiled))
    if lines != own:
        return None
    beyond = sum(np.array(curve.faults) + curve.first for curve in curves)
    return PageTouches(np.array(workload.page_curve_bytes, dtype=float), np.asarray(beyond))


def _walks_per_miss(
    phase: Phase, lines: Array, touches: PageTouches | None, translated_bytes: float
) -> float | None:
    """Return page walks per miss, both without those of streams, which walk once per page.

    None: nearly all misses are those of streams, and the others are too few.
    """
    total = lines.sum(axis=0)
    in_streams = streamed(total)
    others = float(misses(total)) - in_streams
    if others <= MIN_OTHERS_SHARE * in_streams or others <= 0.0:
        return None
    if touches is not None:
        walks = float(touches.farther_than(np.array([translated_bytes]))[0])
    else:
        walks = sum(row.traffic.tlb_misses_4k for row in phase.objects)
    return max(walks - in_streams * LINE_BYTES / PAGE_BYTES, 0.0) / others


def _walks_apart(workload: WorkloadProfile, phase: str) -> float:
    """Return the share of a phase's walks with a new table line, by bursts; 1 without bursts."""
    bursts = [] if workload.bursts is None else workload.bursts.phases
    shares = [entry.walks_apart for entry in bursts if entry.phase == phase]
    return 1.0 if not shares or shares[0] is None else shares[0]


def _walked_bytes(workload: WorkloadProfile, phase: Phase) -> float:
    """Return the size of the data whose translations a phase's walks fetch.

    An object counts with its peak size, but at most with a page per walk.
    """
    return sum(
        min(
            float(workload.objects[row.object].peak_live_bytes),
            row.traffic.tlb_misses_4k * PAGE_BYTES,
        )
        for row in phase.objects
    )

"""One phase at the target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nearfar.base.units import format_bytes
from nearfar.documents.workload import InstructionTraffic, MemoryObject, Phase
from nearfar.profile.scaling import checks
from nearfar.profile.scaling.growth import ExtrapolationNotes, Growth, grow, log_error
from nearfar.profile.scaling.joined import JoinedProfiles
from nearfar.profile.scaling.near_time import count_work, near_time
from nearfar.profile.scaling.rows import PhaseSizes, RowAtTarget, row_at_target


def phase_at_target(
    joined: JoinedProfiles,
    name: str,
    objects: Sequence[MemoryObject],
    target: float,
    notes: ExtrapolationNotes,
    *,
    force: bool,
) -> Phase:
    """Extrapolate phase `name` to the size `target`; `objects` are those at that size.

    A law that errs too much on the sizes profiled is refused; with `force` it adds a warning.
    """
    count = len(joined.sizes)
    rows = [[joined.row(at, name, k) for at in range(count)] for k in range(len(objects))]
    touched = [k for k in range(len(objects)) if any(r.traffic.accesses for r in rows[k])]
    with_curve = [k for k in touched if rows[k][-1].read is not None]
    footprints = np.array(
        [
            sum(sum(p.size_bytes for p in joined.parts(at, k)) for k in with_curve) or 1.0
            for at in range(count)
        ],
        dtype=float,
    )
    footprint = float(sum(objects[k].size_bytes for k in with_curve)) or 1.0
    sizes_of_phase = PhaseSizes(joined, name, target, footprints, footprint)
    results = {k: row_at_target(sizes_of_phase, k, rows[k], notes) for k in touched}
    phases = [joined.phase(at, name) for at in range(count)]
    work = count_work(joined, rows, results, with_curve)
    times = [phase.near_cpu_time_ns for phase in phases]
    time = near_time(joined.sizes, times, work, target)
    operations = _operations(joined.sizes, phases, target)
    if matters(joined, name):
        if warning := _reach(sizes_of_phase, force):
            notes.warnings.append(warning)
        predicted = sum(result.last_predicted for result in results.values())
        known = sum(result.last_known for result in results.values())
        chance = sizes_of_phase.chance * len(results)
        for quantity, error in (
            (f"near time of phase {name!r}", time.mean_error),
            (f"misses of phase {name!r}", log_error(predicted, known, chance)),
            (f"operations of phase {name!r}", operations.mean_error if operations else 0.0),
        ):
            if warning := checks.check_error(quantity, error, checks.MAX_HELD_OUT_ERROR, force):
                notes.warnings.append(warning)
    notes.add("near time", time, name, None)
    if operations:
        notes.add("operations", operations, name, None)
    last = phases[-1]
    ratio = time.estimate.value / max(last.near_cpu_time_ns.value, 1.0)
    return Phase(
        name=name,
        near_cpu_time_ns=time.estimate,
        near_repetitions=min(phase.near_repetitions for phase in phases),
        near_wall_time_ns=last.near_wall_time_ns * ratio,
        operations=operations.estimate.value if operations else None,
        objects=[result.row for result in results.values()],
        instructions=instructions_at_target(joined, last, results),
    )


def _reach(sizes_of_phase: PhaseSizes, force: bool) -> str | None:
    """Check that enough sizes' curves reach the scaled capacity of the cache.

    Data that fit the cache need no curves.
    """
    cache_bytes = float(sizes_of_phase.joined.largest.cache.size_bytes)
    capacities = sizes_of_phase.joined.largest.curve_bytes
    if not capacities or sizes_of_phase.footprint <= cache_bytes:
        return None
    least = capacities[0] * sizes_of_phase.footprint / cache_bytes
    reached = int((sizes_of_phase.footprints >= least).sum())
    needed = f"{format_bytes(least)} or more of data in it"
    return checks.check_reach(sizes_of_phase.name, reached, needed, cache_bytes, force)


def _operations(sizes: Sequence[float], phases: Sequence[Phase], target: float) -> Growth | None:
    counts = [phase.operations for phase in phases]
    known = [count for count in counts if count]
    if len(known) < len(counts):
        return None
    return grow(sizes, known, target)


def matters(joined: JoinedProfiles, name: str) -> bool:
    """Return whether a phase has a notable part of any profile's time or misses."""
    for profile in joined.profiles:
        times = {phase.name: phase.near_cpu_time_ns.value for phase in profile.phases}
        misses = {
            phase.name: sum(row.traffic.misses() for row in phase.objects)
            for phase in profile.phases
        }
        for values in (times, misses):
            if values[name] > checks.MIN_CHECKED_SHARE * sum(values.values()):
                return True
    return False


def instructions_at_target(
    joined: JoinedProfiles, last: Phase, results: dict[int, RowAtTarget]
) -> list[InstructionTraffic]:
    """Return the largest size's instructions, their counts scaled with their object's misses."""
    object_of = {member: k for k, members in enumerate(joined.members[-1]) for member in members}
    before = {
        k: sum(r.traffic.misses() for r in last.objects if object_of.get(r.object) == k)
        for k in results
    }
    misses: dict[tuple[int, int], float] = {}
    accesses: dict[tuple[int, int], float] = {}
    for row in last.instructions:
        k = object_of.get(row.object)
        if k is not None and before.get(k):
            factor = results[k].misses.estimate.value / before[k]
            place = (row.instruction, k)
            misses[place] = misses.get(place, 0.0) + row.misses * factor
            accesses[place] = accesses.get(place, 0.0) + row.accesses * factor
    return [
        InstructionTraffic(
            instruction=place[0], object=place[1], misses=count, accesses=accesses[place]
        )
        for place, count in misses.items()
    ]

"""What follows the numbers: instructions, and live bytes over time."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.documents.workload import InstructionTraffic, LiveSample, MemoryObject, Phase
from nearfar.profile.scaling.joined import Joined
from nearfar.profile.scaling.rows import RowAtTarget


def instructions_at_target(
    joined: Joined, last: Phase, results: dict[int, RowAtTarget]
) -> list[InstructionTraffic]:
    """Return the largest size's, each object's misses grown as the object's."""
    number = {member: k for k, members in enumerate(joined.members[-1]) for member in members}
    before = {
        k: sum(r.traffic.misses() for r in last.objects if number.get(r.object) == k)
        for k in results
    }
    found: dict[tuple[int, int], float] = {}
    for row in last.instructions:
        k = number.get(row.object)
        if k is not None and before.get(k):
            factor = results[k].misses.estimate.value / before[k]
            place = (row.instruction, k)
            found[place] = found.get(place, 0.0) + row.misses * factor
    return [
        InstructionTraffic(instruction=instruction, object=k, misses=misses)
        for (instruction, k), misses in found.items()
    ]


def live_at_target(
    joined: Joined, objects: Sequence[MemoryObject], phases: Sequence[Phase]
) -> list[LiveSample]:
    """Return the largest size's samples, stretched in time and bytes."""
    largest = joined.largest
    then = sum(phase.near_cpu_time_ns.value for phase in largest.phases)
    now = sum(phase.near_cpu_time_ns.value for phase in phases)
    stretch = now / then if then else 1.0
    number = {str(member): k for k, members in enumerate(joined.members[-1]) for member in members}
    grown = {}
    for k, thing in enumerate(objects):
        before = sum(part.size_bytes for part in joined.parts(len(joined.sizes) - 1, k))
        grown[k] = thing.size_bytes / before if before else 1.0
    found = []
    for sample in largest.live:
        bytes_by_object: dict[str, int] = {}
        for key, size_bytes in sample.bytes_by_object.items():
            own = number.get(key)
            name = "other" if own is None else str(own)
            factor = 1.0 if own is None else grown[own]
            bytes_by_object[name] = bytes_by_object.get(name, 0) + round(size_bytes * factor)
        found.append(
            LiveSample(
                time_ns=sample.time_ns * stretch,
                phase=sample.phase,
                bytes_by_object=bytes_by_object,
            )
        )
    return found

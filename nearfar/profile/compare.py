"""Two profiles of one program side by side: another input, another build, another source."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from nearfar.base.units import format_bytes
from nearfar.documents import WorkloadProfile, producer
from nearfar.documents.comparison import ComparedObject, ComparedPhase, Comparison
from nearfar.documents.workload import Phase
from nearfar.profile.identity import Same, aligned

FEW_LINES = 2.0
"""Sampled lines by which any count is off: two sigma of one."""


def compare(
    one: WorkloadProfile, other: WorkloadProfile, names: tuple[str, str], *, edited: bool = False
) -> Comparison:
    """Return what both have in common. `edited`: lines of the source may have moved between."""
    both = (one, other)
    alignment = aligned(both, lines_may_move=edited)
    phases = [phase.name for phase in one.phases if any(p.name == phase.name for p in other.phases)]
    objects = [_object(same, both, phases) for same in alignment.objects]
    objects.sort(key=lambda thing: -max(thing.misses))
    return Comparison(
        producer=producer(),
        profiles=names,
        phases=[_phase(name, both) for name in phases],
        objects=objects,
        warnings=[*_differences(both, names, phases), *alignment.moved],
    )


def _phase(name: str, both: Sequence[WorkloadProfile]) -> ComparedPhase:
    one, other = (_named(profile, name) for profile in both)
    times = one.near_cpu_time_ns, other.near_cpu_time_ns
    return ComparedPhase(
        name=name,
        near_cpu_time_ns=(times[0].value, times[1].value),
        operations=(one.operations, other.operations),
        misses=(_misses(one), _misses(other)),
        time_differs=times[0].high < times[1].low or times[1].high < times[0].low,
    )


def _object(same: Same, both: Sequence[WorkloadProfile], phases: Sequence[str]) -> ComparedObject:
    sizes: list[int] = []
    misses: list[float] = []
    variance = 0.0
    for profile, members in zip(both, same.members, strict=True):
        wanted = set(members)
        sizes.append(sum(profile.objects[number].size_bytes for number in wanted))
        found = sum(_misses(_named(profile, name), wanted) for name in phases)
        misses.append(found)
        variance += _sampling_error(profile, found) ** 2
    return ComparedObject(
        name=same.name,
        here=(bool(same.members[0]), bool(same.members[1])),
        size_bytes=(sizes[0], sizes[1]),
        misses=(misses[0], misses[1]),
        differs=abs(misses[0] - misses[1]) > math.sqrt(variance),
    )


def _sampling_error(profile: WorkloadProfile, misses: float) -> float:
    """Return the 95 % half-width of so many of a profile's misses: as of the total, by the root."""
    total = sum(_misses(phase) for phase in profile.phases)
    rate = profile.sampling.rate
    if rate == 1:
        return 0.0
    return profile.sampling.relative_error * math.sqrt(total * misses) + FEW_LINES * rate


def _differences(
    both: Sequence[WorkloadProfile], names: tuple[str, str], phases: Sequence[str]
) -> list[str]:
    found: list[str] = []
    programs = [Path(profile.program.executable).name for profile in both]
    if programs[0] != programs[1]:
        found.append(
            f"{names[0]} is of {programs[0]}, {names[1]} of {programs[1]}: if these are not builds "
            "of one program, what is called alike has nothing in common"
        )
    caches = [profile.cache.size_bytes for profile in both]
    if caches[0] != caches[1]:
        found.append(
            f"{names[0]} has misses of a cache of {format_bytes(caches[0])}, {names[1]} of "
            f"{format_bytes(caches[1])}: they differ for that reason too"
        )
    for profile, name in zip(both, names, strict=True):
        alone = [phase.name for phase in profile.phases if phase.name not in phases]
        if alone:
            found.append(f"only {name} has the phase {', '.join(alone)}: left out")
    sizes = [profile.size for profile in both]
    if sizes[0] != sizes[1]:
        found.append(f"they were run at {_size(sizes[0])} and {_size(sizes[1])}")
    return found


def _size(size: dict[str, float]) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in size.items()) or "no size said"


def _named(profile: WorkloadProfile, name: str) -> Phase:
    return next(phase for phase in profile.phases if phase.name == name)


def _misses(phase: Phase, objects: set[int] | None = None) -> float:
    return sum(
        row.traffic.misses() for row in phase.objects if objects is None or row.object in objects
    )

"""Two profiles: near times of phases, misses by phase, object and line, sizes of objects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.base.units import format_bytes
from nearfar.compare.kind import (
    KINDS,
    Z95,
    ComparableKind,
    ComparedValue,
    Pair,
    PairedValues,
    SideNames,
    from_interval,
    match,
)
from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import Phase
from nearfar.profile.identity import MatchedObject, align_objects
from nearfar.program.names import bare_name

LINE_ERROR = 2.0
"""Error of any count in sampled lines: two standard deviations of a count of 1."""

TIME, MISSES, OBJECTS, LINES, SIZES = "time", "misses", "objects", "lines", "sizes"


@KINDS.register("workload-profile")
class Profiles(ComparableKind[WorkloadProfile]):
    """Profiles of one program with another input, build or source of accesses."""

    document = WorkloadProfile

    def values(self, documents: Sequence[WorkloadProfile]) -> list[ComparedValue]:
        """Return near time and misses of each phase, which match by the phase's name."""
        (profile,) = documents
        values: list[ComparedValue] = []
        for phase in profile.phases:
            time = phase.near_cpu_time_ns
            values.append(
                ComparedValue(
                    TIME,
                    phase.name,
                    "ns",
                    time.value,
                    sigma=from_interval(time, Z95) if phase.near_repetitions > 1 else None,
                    repetitions=phase.near_repetitions,
                    timed=True,
                    note="" if phase.near_repetitions > 1 else "it was run once",
                )
            )
        for phase in profile.phases:
            count = _misses(phase)
            values.append(
                ComparedValue(MISSES, phase.name, "misses", count, sigma=_sigma(profile, count))
            )
        return values

    def paired(
        self,
        a: Sequence[WorkloadProfile],
        b: Sequence[WorkloadProfile],
        names: SideNames,
        *,
        edited: bool,
    ) -> PairedValues:
        """Pair the values of phases by name, those of objects and lines by place in the source."""
        if len(a) > 1 or len(b) > 1:
            raise NearfarError("a profile is compared with one profile: name two files")
        both = (a[0], b[0])
        common = [p.name for p in both[0].phases if any(q.name == p.name for q in both[1].phases)]
        pairs = [
            pair
            for pair in match(self.values(a), self.values(b))
            if all(value is not None and value.name in common for value in pair)
        ]
        alignment = align_objects(both, lines_may_move=edited)
        pairs += [_objects(same, both, common) for same in alignment.objects]
        pairs += match(*(_lines(profile, common) for profile in both))
        pairs += [_sizes(same, both) for same in alignment.objects]
        pairs = [pair for pair in pairs if any(value is not None and value.value for value in pair)]
        return PairedValues(pairs, [*_differences(both, names, common), *alignment.moved])


def _objects(same: MatchedObject, both: Sequence[WorkloadProfile], phases: Sequence[str]) -> Pair:
    values: list[ComparedValue | None] = []
    total = sum(_misses(_named(both[0], name)) for name in phases)
    for profile, members in zip(both, same.members, strict=True):
        wanted = set(members)
        count = sum(_misses(_named(profile, name), wanted) for name in phases)
        sigma = _sigma(profile, count)
        # Sampling may miss an object by chance, so one that a run lacks counts as 0 misses.
        value = ComparedValue(OBJECTS, same.name, "misses", count, sigma=sigma, total=total)
        values.append(value if wanted or sigma else None)
    return values[0], values[1]


def _sizes(same: MatchedObject, both: Sequence[WorkloadProfile]) -> Pair:
    total = float(sum(owner.size_bytes for owner in both[0].objects))
    values: list[ComparedValue | None] = []
    for profile, members in zip(both, same.members, strict=True):
        size = sum(profile.objects[number].size_bytes for number in set(members))
        value = ComparedValue(SIZES, same.name, "bytes", float(size), sigma=0.0, total=total)
        values.append(value if members else None)
    return values[0], values[1]


def _lines(profile: WorkloadProfile, phases: Sequence[str]) -> list[ComparedValue]:
    """Return misses by source line; a line whose number changed counts as a different line."""
    counts: dict[str, float] = {}
    for name in phases:
        for row in _named(profile, name).instructions:
            line = profile.instructions[row.instruction]
            if line.file and row.misses > 0.0:
                where = f"{Path(line.file).name}:{line.line} {bare_name(line.function)}"
                counts[where] = counts.get(where, 0.0) + row.misses
    total = sum(_misses(_named(profile, name)) for name in phases)
    return [
        ComparedValue(LINES, where, "misses", count, sigma=_sigma(profile, count), total=total)
        for where, count in counts.items()
    ]


def _sigma(profile: WorkloadProfile, misses: float) -> float:
    """Return the standard error of a count of sampled misses.

    It is the error of the total, scaled by the square root of the share, plus a constant.
    """
    rate = profile.sampling.rate
    if rate == 1:
        return 0.0
    total = sum(_misses(phase) for phase in profile.phases)
    half = profile.sampling.relative_error * math.sqrt(total * misses) + LINE_ERROR * rate
    return half / Z95


def _differences(
    both: Sequence[WorkloadProfile], names: SideNames, phases: Sequence[str]
) -> list[str]:
    warnings: list[str] = []
    programs = [Path(profile.program.executable).name for profile in both]
    if programs[0] != programs[1]:
        warnings.append(
            f"{names.a} is of {programs[0]}, {names.b} of {programs[1]}: unless these are builds "
            "of one program, equal names mean nothing"
        )
    caches = [profile.cache.size_bytes for profile in both]
    if caches[0] != caches[1]:
        warnings.append(
            f"{names.a} has misses of a cache of {format_bytes(caches[0])}, {names.b} of "
            f"{format_bytes(caches[1])}: they differ for that reason too"
        )
    for profile, name in zip(both, (names.a, names.b), strict=True):
        alone = [phase.name for phase in profile.phases if phase.name not in phases]
        if alone:
            warnings.append(f"only {name} has the phase {', '.join(alone)}: left out")
    sizes = [profile.size for profile in both]
    if sizes[0] != sizes[1]:
        warnings.append(f"their sizes are {_size(sizes[0])} and {_size(sizes[1])}")
    return warnings


def _size(size: dict[str, float]) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in size.items()) or "no size"


def _named(profile: WorkloadProfile, name: str) -> Phase:
    return next(phase for phase in profile.phases if phase.name == name)


def _misses(phase: Phase, objects: set[int] | None = None) -> float:
    return sum(
        row.traffic.misses() for row in phase.objects if objects is None or row.object in objects
    )

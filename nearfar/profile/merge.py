"""Profiles of several runs, merged to their weighted sum.

Counts and times are added up. Sizes are not, since runs do not overlap: a plan needs space for the
largest size of each object.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.base.units import format_bytes
from nearfar.documents import WorkloadProfile, producer
from nearfar.documents.bursts import Bursts
from nearfar.documents.profiled_run import LiveSample, Sampling
from nearfar.documents.workload import (
    Instruction,
    InstructionTraffic,
    MemoryObject,
    MissCurve,
    ObjectTraffic,
    Phase,
)
from nearfar.profile.identity import Alignment, align_objects, instruction_identity
from nearfar.profile.traffic import add_rows


def merge(
    profiles: Sequence[WorkloadProfile],
    names: Sequence[str],
    weights: Sequence[float] | None = None,
    *,
    edited: bool = False,
) -> WorkloadProfile:
    """Return the sum of profiles, of files `names`; `edited`: lines moved between their builds."""
    factors = list(weights) if weights else [1.0] * len(profiles)
    _check(profiles, names, factors)
    alignment = align_objects(profiles, lines_may_move=edited)
    instructions, places = _instructions(profiles)
    first = profiles[0]
    phase_names = dict.fromkeys(phase.name for profile in profiles for phase in profile.phases)
    number_of = [
        {number: at for at, same in enumerate(alignment.objects) for number in same.members[index]}
        for index in range(len(profiles))
    ]
    phases = [
        _phase(name, profiles, factors, number_of=number_of, places=places) for name in phase_names
    ]
    near_ns = [
        w * sum(p.near_cpu_time_ns.value for p in profile.phases)
        for profile, w in zip(profiles, factors, strict=True)
    ]
    slowdown = sum(p.instrumented_slowdown * t for p, t in zip(profiles, near_ns, strict=True))
    sources = [
        f"{name} (x {weight:g})" if weight != 1.0 else name
        for name, weight in zip(names, factors, strict=True)
    ]
    uncounted = sum(p.uncounted_share * t for p, t in zip(profiles, near_ns, strict=True))
    return msgspec.structs.replace(
        first,
        producer=producer(),
        program=msgspec.structs.replace(
            first.program,
            threads_seen=max(profile.program.threads_seen for profile in profiles),
            processes_seen=max(profile.program.processes_seen for profile in profiles),
        ),
        size={k: v for k, v in first.size.items() if all(p.size.get(k) == v for p in profiles)},
        sampling=_sampling(profiles, factors),
        core=first.core if all(profile.core == first.core for profile in profiles) else None,
        flushes_counted=all(profile.flushes_counted for profile in profiles),
        seen_share=min(profile.seen_share for profile in profiles),
        seen_share_at_most=any(profile.seen_share_at_most for profile in profiles),
        uncounted_share=uncounted / sum(near_ns) if sum(near_ns) else 0.0,
        instrumented_slowdown=slowdown / sum(near_ns) if sum(near_ns) else 1.0,
        objects=_objects(profiles, alignment),
        instructions=instructions,
        phases=phases,
        live=_live(profiles, number_of),
        bursts=kept_bursts([profile.bursts for profile in profiles], number_of),
        checks=[],
        warnings=[
            f"merged from {', '.join(sources)}",
            *alignment.moved,
            *dict.fromkeys(warning for profile in profiles for warning in profile.warnings),
        ],
    )


def _check(
    profiles: Sequence[WorkloadProfile], names: Sequence[str], weights: Sequence[float]
) -> None:
    if len(profiles) < 2:
        raise NearfarError("expected two or more profiles to merge, not one")
    if len(weights) != len(profiles):
        raise NearfarError(
            f"{len(weights)} weights for {len(profiles)} profiles: give one --weight for each, in "
            "the same order"
        )
    if any(not (weight > 0 and math.isfinite(weight)) for weight in weights):
        raise NearfarError("weights must be above 0: leave out profiles of weight 0")
    first = profiles[0]
    for profile, name in zip(profiles, names, strict=True):
        if profile.extrapolation is not None:
            raise NearfarError(f"{name} is extrapolated, not a run: merge runs, then extrapolate")
        program, first_program = (Path(p.program.executable).name for p in (profile, first))
        if program != first_program:
            raise NearfarError(
                f"{name} is of {program}, {names[0]} of {first_program}: "
                "only runs of one program share objects"
            )
        if profile.producer.cpu_model != first.producer.cpu_model:
            raise NearfarError(
                f"{name} was measured on {profile.producer.cpu_model}, {names[0]} on "
                f"{first.producer.cpu_model}: near times of two processors cannot be added"
            )
        cache_bytes, first_cache_bytes = profile.cache.size_bytes, first.cache.size_bytes
        if cache_bytes != first_cache_bytes or profile.curve_bytes != first.curve_bytes:
            raise NearfarError(
                f"{name} simulates a cache of {format_bytes(cache_bytes)}, {names[0]} of "
                f"{format_bytes(first_cache_bytes)}: profile both with the same --llc"
            )


def _objects(profiles: Sequence[WorkloadProfile], alignment: Alignment) -> list[MemoryObject]:
    """Return the merged objects: counts summed, sizes from the run with the largest."""
    # Live bytes at one moment come from the run with most of them.
    totals = [sum(memory.live_bytes_at_peak for memory in profile.objects) for profile in profiles]
    fullest = totals.index(max(totals))
    objects = []
    for number, match in enumerate(alignment.objects):
        parts = [
            [profile.objects[n] for n in numbers]
            for profile, numbers in zip(profiles, match.members, strict=True)
        ]
        template = next(memory for group in parts for memory in group)
        size = max(sum(memory.size_bytes for memory in group) for group in parts)
        objects.append(
            msgspec.structs.replace(
                template,
                id=number,
                name=match.name,
                allocations=sum(memory.allocations for group in parts for memory in group),
                allocated_bytes=sum(memory.allocated_bytes for group in parts for memory in group),
                peak_live_bytes=size,
                live_bytes_at_peak=sum(memory.live_bytes_at_peak for memory in parts[fullest]),
                size_bytes=size,
                told_by=max(1, len(match.identity.sites)),
            )
        )
    return objects


def _instructions(
    profiles: Sequence[WorkloadProfile],
) -> tuple[list[Instruction], list[list[int]]]:
    """Return all instructions, and the index of each profile's among them."""
    numbers: dict[tuple[object, ...], int] = {}
    everything: list[Instruction] = []
    places: list[list[int]] = []
    for profile in profiles:
        places.append([])
        for instruction in profile.instructions:
            number = numbers.setdefault(instruction_identity(instruction), len(everything))
            if number == len(everything):
                everything.append(instruction)
            places[-1].append(number)
    return everything, places


def _phase(
    name: str,
    profiles: Sequence[WorkloadProfile],
    weights: Sequence[float],
    *,
    number_of: Sequence[dict[int, int]],
    places: Sequence[Sequence[int]],
) -> Phase:
    """Return the weighted sum of the runs' phases of this name."""
    rows: dict[int, list[tuple[ObjectTraffic, float]]] = {}
    misses: dict[tuple[int, int], float] = {}
    accesses: dict[tuple[int, int], float] = {}
    parts: list[tuple[Phase, float]] = []
    for at, (profile, weight) in enumerate(zip(profiles, weights, strict=True)):
        for phase in profile.phases:
            if phase.name != name:
                continue
            parts.append((phase, weight))
            for row in phase.objects:
                rows.setdefault(number_of[at][row.object], []).append((row, weight))
            for traffic in phase.instructions:
                key = (places[at][traffic.instruction], number_of[at][traffic.object])
                misses[key] = misses.get(key, 0.0) + weight * traffic.misses
                accesses[key] = accesses.get(key, 0.0) + weight * traffic.accesses
    operations = [
        None if phase.operations is None else weight * phase.operations for phase, weight in parts
    ]
    known = [count for count in operations if count is not None]
    return Phase(
        name=name,
        near_cpu_time_ns=_sum([(phase.near_cpu_time_ns, weight) for phase, weight in parts]),
        near_repetitions=min(phase.near_repetitions for phase, _ in parts),
        near_wall_time_ns=sum(phase.near_wall_time_ns * weight for phase, weight in parts),
        operations=sum(known) if len(known) == len(operations) else None,
        objects=[_row(number, rows[number]) for number in sorted(rows)],
        instructions=[
            InstructionTraffic(
                instruction=key[0], object=key[1], misses=count, accesses=accesses[key]
            )
            for key, count in misses.items()
        ],
        counted=_counted(parts),
    )


def _counted(parts: Sequence[tuple[Phase, float]]) -> dict[str, float]:
    """Return the sums of the counters that every run has."""
    names = set.intersection(*(set(phase.counted) for phase, _ in parts))
    return {name: sum(weight * p.counted[name] for p, weight in parts) for name in sorted(names)}


def _row(number: int, rows: Sequence[tuple[ObjectTraffic, float]]) -> ObjectTraffic:
    total = add_rows([row for row, _ in rows], [weight for _, weight in rows])
    curve = None
    if total.read is not None and total.write is not None:
        curve = MissCurve(read=total.read.round(1).tolist(), write=total.write.round(1).tolist())
    return ObjectTraffic(object=number, traffic=total.traffic, curve=curve)


def _sum(times: Sequence[tuple[Estimate, float]]) -> Estimate:
    """Return the weighted sum of times; errors are independent, so their squares add up."""
    value = sum(weight * time.value for time, weight in times)
    below = math.sqrt(sum((weight * (time.value - time.low)) ** 2 for time, weight in times))
    above = math.sqrt(sum((weight * (time.high - time.value)) ** 2 for time, weight in times))
    return Estimate(value, value - below, value + above)


def _sampling(profiles: Sequence[WorkloadProfile], weights: Sequence[float]) -> Sampling:
    misses = [
        weight * sum(row.traffic.misses() for phase in profile.phases for row in phase.objects)
        for profile, weight in zip(profiles, weights, strict=True)
    ]
    total = sum(misses)
    spread = math.sqrt(
        sum((m * p.sampling.relative_error) ** 2 for m, p in zip(misses, profiles, strict=True))
    )
    return Sampling(
        rate=max(profile.sampling.rate for profile in profiles),
        sampled_accesses=sum(profile.sampling.sampled_accesses for profile in profiles),
        sampled_misses=sum(profile.sampling.sampled_misses for profile in profiles),
        relative_error=spread / total if total else 1.0,
    )


def _live(
    profiles: Sequence[WorkloadProfile], number_of: Sequence[dict[int, int]]
) -> list[LiveSample]:
    """Return the samples of all runs, each run starting where the one before ended."""
    samples: list[LiveSample] = []
    start_ns = 0.0
    for profile, numbers in zip(profiles, number_of, strict=True):
        for sample in profile.live:
            bytes_by_object: dict[str, int] = {}
            for key, size_bytes in sample.bytes_by_object.items():
                known = numbers.get(int(key)) if key.isdigit() else None
                name = "other" if known is None else str(known)
                bytes_by_object[name] = bytes_by_object.get(name, 0) + size_bytes
            samples.append(
                LiveSample(
                    time_ns=start_ns + sample.time_ns,
                    phase=sample.phase,
                    bytes_by_object=bytes_by_object,
                )
            )
        start_ns = samples[-1].time_ns if samples else 0.0
    return samples


def kept_bursts(
    given: Sequence[Bursts | None], number_of: Sequence[Mapping[int, int]]
) -> Bursts | None:
    """Return the bursts of the run with most phases; the order of bursts cannot be added up.

    `number_of` maps the objects of each run to their merged numbers.
    """
    known = [(bursts, numbers) for bursts, numbers in zip(given, number_of, strict=True) if bursts]
    if not known:
        return None
    bursts, numbers = max(known, key=lambda pair: len(pair[0].phases))
    return msgspec.structs.replace(
        bursts,
        accesses=[
            msgspec.structs.replace(access, object=numbers.get(access.object, -1))
            for access in bursts.accesses
        ],
        phases=[
            msgspec.structs.replace(
                phase,
                objects=[
                    msgspec.structs.replace(row, object=numbers.get(row.object, -1))
                    for row in phase.objects
                ],
            )
            for phase in bursts.phases
        ],
    )

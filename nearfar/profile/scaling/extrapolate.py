"""The profile at a size that was never run."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from nearfar.documents import WorkloadProfile, producer
from nearfar.documents.profiled_run import Extrapolation, LiveSample
from nearfar.documents.workload import MemoryObject, Phase
from nearfar.profile.scaling import checks
from nearfar.profile.scaling.growth import ExtrapolationNotes, grow
from nearfar.profile.scaling.joined import JoinedProfiles, join, mean_profiles
from nearfar.profile.scaling.phase import phase_at_target


def extrapolate(
    profiles: Sequence[WorkloadProfile],
    names: Sequence[str],
    target: dict[str, float],
    *,
    force: bool = False,
) -> WorkloadProfile:
    """Extrapolate `profiles` to `target`; refuse a target that they do not support.

    `names` are the profiles' files, for messages.
    """
    parameter = checks.parameter_of(profiles, names, target)
    sizes, at = [profile.size[parameter] for profile in profiles], target[parameter]
    checks.check_sizes(sizes, parameter)
    checks.check_target(sizes, at, parameter, force)
    checks.check_alike(profiles, names)
    means, _, repeats = mean_profiles(profiles, names, parameter)
    joined, partly = join(parameter, means, repeats)
    notes = ExtrapolationNotes()
    left_out = [*checks.check_phases(joined), *checks.check_partly(joined, partly)]
    if left_out:
        notes.warnings.append(f"left out, because not at every size: {', '.join(left_out)}")
    objects = _objects(joined, at, notes, force)
    phases = [
        phase_at_target(joined, name, objects, at, notes, force=force) for name in joined.phases
    ]
    return _document(joined, names, target, objects, phases, notes=notes)


def _objects(
    joined: JoinedProfiles, target: float, notes: ExtrapolationNotes, force: bool
) -> list[MemoryObject]:
    objects: list[MemoryObject] = []
    total_bytes = sum(memory.size_bytes for memory in joined.largest.objects)
    for number, matched in enumerate(joined.objects):
        parts = [joined.parts(at, number) for at in range(len(joined.sizes))]
        series = {
            name: [float(sum(getattr(memory, name) for memory in group)) for group in parts]
            for name in ("size_bytes", "live_bytes_at_peak", "allocations", "allocated_bytes")
        }
        # Sizes of small blocks are estimated from sampled lines.
        chance = 64.0 * joined.largest.sampling.rate / min(joined.repeats) ** 0.5
        grown = {name: grow(joined.sizes, row, target, chance) for name, row in series.items()}
        if series["size_bytes"][-1] > checks.MIN_CHECKED_SHARE * total_bytes and (
            warning := checks.check_error(
                f"the size of {matched.name}",
                grown["size_bytes"].mean_error,
                checks.MAX_HELD_OUT_ERROR,
                force,
            )
        ):
            notes.warnings.append(warning)
        size = round(notes.add("size", grown["size_bytes"], "", number))
        template = parts[-1][0]
        objects.append(
            MemoryObject(
                id=number,
                name=matched.name,
                kind=template.kind,
                frames=template.frames,
                allocations=round(grown["allocations"].estimate.value),
                allocated_bytes=round(grown["allocated_bytes"].estimate.value),
                peak_live_bytes=size,
                live_bytes_at_peak=min(size, round(grown["live_bytes_at_peak"].estimate.value)),
                size_bytes=size,
                told_by=max(1, len(matched.identity.sites)),
                via=template.via,
                split=template.split,
            )
        )
    return objects


def _document(
    joined: JoinedProfiles,
    names: Sequence[str],
    target: dict[str, float],
    objects: list[MemoryObject],
    phases: list[Phase],
    *,
    notes: ExtrapolationNotes,
) -> WorkloadProfile:
    """Return the extrapolated profile: the largest one with other objects and phases."""
    largest, parameter = joined.largest, joined.parameter
    order = sorted(range(len(names)), key=lambda at: names[at])
    sizes = ", ".join(f"{size:g}" for size in joined.sizes)
    return msgspec.structs.replace(
        largest,
        producer=producer(),
        size={**largest.size, **target},
        # Page walks, flushes and bursts are not extrapolated.
        core=None,
        bursts=None,
        flushes_counted=False,
        objects=objects,
        phases=phases,
        live=_live_at_target(joined, objects, phases),
        warnings=[
            f"extrapolated to {parameter}={target[parameter]:g}, which was never run, from "
            f"{parameter}={sizes}",
            *notes.warnings,
            *largest.warnings,
        ],
        extrapolation=Extrapolation(
            parameter=parameter,
            target=target[parameter],
            sizes=joined.sizes,
            profiles=[names[at] for at in order],
            quantities=notes.quantities,
        ),
    )


def _live_at_target(
    joined: JoinedProfiles, objects: Sequence[MemoryObject], phases: Sequence[Phase]
) -> list[LiveSample]:
    """Return the largest size's live samples, stretched in time and bytes."""
    largest = joined.largest
    near_before = sum(phase.near_cpu_time_ns.value for phase in largest.phases)
    near_now = sum(phase.near_cpu_time_ns.value for phase in phases)
    stretch = near_now / near_before if near_before else 1.0
    object_of = {
        str(member): k for k, members in enumerate(joined.members[-1]) for member in members
    }
    grown = {}
    for k, memory in enumerate(objects):
        before = sum(part.size_bytes for part in joined.parts(len(joined.sizes) - 1, k))
        grown[k] = memory.size_bytes / before if before else 1.0
    samples = []
    for sample in largest.live:
        bytes_by_object: dict[str, int] = {}
        for key, size_bytes in sample.bytes_by_object.items():
            object_number = object_of.get(key)
            name = "other" if object_number is None else str(object_number)
            factor = 1.0 if object_number is None else grown[object_number]
            bytes_by_object[name] = bytes_by_object.get(name, 0) + round(size_bytes * factor)
        samples.append(
            LiveSample(
                time_ns=sample.time_ns * stretch,
                phase=sample.phase,
                bytes_by_object=bytes_by_object,
            )
        )
    return samples

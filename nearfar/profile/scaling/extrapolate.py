"""Puts the profile of a size nobody ran together."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from nearfar.documents import WorkloadProfile, producer
from nearfar.documents.workload import Extrapolation, LiveSample, MemoryObject, Phase
from nearfar.profile.scaling import checks
from nearfar.profile.scaling.growth import Notes, grow
from nearfar.profile.scaling.joined import Joined, combined, join
from nearfar.profile.scaling.phase import phase_at_target


def extrapolate(
    profiles: Sequence[WorkloadProfile],
    names: Sequence[str],
    target: dict[str, float],
    *,
    force: bool = False,
) -> WorkloadProfile:
    """Return the profile at a size nobody ran; refuse what the profiles do not support.

    `names` are the profiles' files, for what is said about them.
    """
    parameter = checks.parameter_of(profiles, names, target)
    sizes, at = [profile.size[parameter] for profile in profiles], target[parameter]
    checks.check_sizes(sizes, parameter)
    checks.check_target(sizes, at, parameter, force)
    checks.check_alike(profiles, names)
    means, _, repeats = combined(profiles, names, parameter)
    joined, partly = join(parameter, means, repeats)
    notes = Notes()
    left_out = [*checks.check_phases(joined), *checks.check_partly(joined, partly)]
    if left_out:
        notes.warnings.append(f"not at every size, so left out: {', '.join(left_out)}")
    objects = _objects(joined, at, notes, force)
    phases = [
        phase_at_target(joined, name, objects, at, notes, force=force) for name in joined.phases
    ]
    return _document(joined, names, target, objects, phases, notes=notes)


def _objects(joined: Joined, target: float, notes: Notes, force: bool) -> list[MemoryObject]:
    found: list[MemoryObject] = []
    everything = sum(thing.size_bytes for thing in joined.largest.objects)
    for number, same in enumerate(joined.objects):
        parts = [joined.parts(at, number) for at in range(len(joined.sizes))]
        series = {
            name: [float(sum(getattr(thing, name) for thing in some)) for some in parts]
            for name in ("size_bytes", "live_bytes_at_peak", "allocations", "allocated_bytes")
        }
        # Sizes of small blocks are estimated from sampled lines.
        chance = 64.0 * joined.largest.sampling.rate / min(joined.repeats) ** 0.5
        grown = {name: grow(joined.sizes, row, target, chance) for name, row in series.items()}
        if series["size_bytes"][-1] > checks.MATTERS * everything and (
            said := checks.check_error(
                f"the size of {same.name}",
                grown["size_bytes"].mean_error,
                checks.LARGEST_ERROR,
                force,
            )
        ):
            notes.warnings.append(said)
        size = round(notes.add("size", grown["size_bytes"], "", number))
        model = parts[-1][0]
        found.append(
            MemoryObject(
                id=number,
                name=same.name,
                kind=model.kind,
                frames=model.frames,
                allocations=round(grown["allocations"].estimate.value),
                allocated_bytes=round(grown["allocated_bytes"].estimate.value),
                peak_live_bytes=size,
                live_bytes_at_peak=min(size, round(grown["live_bytes_at_peak"].estimate.value)),
                size_bytes=size,
                told_by=max(1, len(same.identity.sites)),
                via=model.via,
                split=model.split,
            )
        )
    return found


def _document(
    joined: Joined,
    names: Sequence[str],
    target: dict[str, float],
    objects: list[MemoryObject],
    phases: list[Phase],
    *,
    notes: Notes,
) -> WorkloadProfile:
    largest, parameter = joined.largest, joined.parameter
    order = sorted(range(len(names)), key=lambda at: names[at])
    sizes = ", ".join(f"{size:g}" for size in joined.sizes)
    return msgspec.structs.replace(
        largest,
        producer=producer(),
        size={**largest.size, **target},
        # Page walks, flushes and bursts are not extrapolated: nobody saw them at this size.
        core=None,
        bursts=None,
        flushes_counted=False,
        objects=objects,
        phases=phases,
        live=_live_at_target(joined, objects, phases),
        warnings=[
            f"extrapolated: nobody ran {parameter}={target[parameter]:g}; from {parameter}={sizes}",
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

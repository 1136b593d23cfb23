"""The profile of a program after one of its types is split, as far as models need it.

Near time follows from the model `inversion`, without the lines that are no longer fetched.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from nearfar.base.estimate import Estimate, scale_estimate
from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import (
    AccessClasses,
    MissCurve,
    ObjectTraffic,
    Phase,
    Traffic,
)
from nearfar.place.split_traffic import (
    HotCold,
    PartTraffic,
    RemainingMisses,
    Visits,
    split_traffic,
)
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import NO_PERTURBATION
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.perturbations import perturbations
from nearfar.predict.phases import phases_of


def bare_profile(workload: WorkloadProfile) -> WorkloadProfile:
    """Return the profile without bursts and checks, which would contradict the changed counts.

    Ranges are removed too. Those of a split object are unknown, so the programs before and after
    the split are both placed without ranges.
    """
    phases = [
        msgspec.structs.replace(
            phase, objects=[msgspec.structs.replace(row, ranges=None) for row in phase.objects]
        )
        for phase in workload.phases
    ]
    return msgspec.structs.replace(workload, phases=phases, bursts=None, checks=[])


def split_profile(workload: WorkloadProfile, split: HotCold, visits: Visits) -> WorkloadProfile:
    """Return the profile with the split object as two: its hot part, and its cold part last.

    Near time is still that without the split.
    """
    number, cold = split.use.object, len(workload.objects)
    owner = workload.objects[number]
    hot_stride, cold_stride = split.strides
    scale = 1.0 / split.use.stride_bytes

    def part(name: str, stride: int, at: int) -> object:
        sizes = {
            field: round(getattr(owner, field) * stride * scale)
            for field in ("allocated_bytes", "peak_live_bytes", "live_bytes_at_peak", "size_bytes")
        }
        return msgspec.structs.replace(owner, id=at, name=f"{owner.name}, {name}", **sizes)

    objects = list(workload.objects)
    objects[number] = part("hot fields", hot_stride, number)  # type: ignore[call-overload]
    objects.append(part("cold fields", cold_stride, cold))  # type: ignore[arg-type]
    phases = [_phase(workload, phase, split, visits, cold) for phase in workload.phases]
    misses = sum(row.traffic.misses() for phase in phases for row in phase.objects)
    before = sum(row.traffic.misses() for phase in workload.phases for row in phase.objects)
    sampled = workload.sampling.sampled_misses * (misses / before if before else 1.0)
    return msgspec.structs.replace(
        workload,
        objects=objects,
        phases=phases,
        live=[],
        sampling=msgspec.structs.replace(workload.sampling, sampled_misses=round(sampled)),
    )


def _phase(
    workload: WorkloadProfile, phase: Phase, split: HotCold, visits: Visits, cold: int
) -> Phase:
    rows: list[ObjectTraffic] = []
    factors: Mapping[int, float] = {}
    for row in phase.objects:
        if row.object != split.use.object:
            rows.append(row)
            continue
        accesses = split.use.phases[phase.name]
        curve = RemainingMisses(row, workload.curve_bytes, workload.cache.size_bytes)
        parts = split_traffic(split, row, accesses, curve, visits)
        before = row.traffic.misses()
        for at, part in zip((row.object, cold), parts, strict=True):
            share = part.lines / before if before else 0.0
            rows.append(
                ObjectTraffic(object=at, traffic=_traffic(row, part), curve=_curve(row, share))
            )
        factors = {row.object: parts[0].lines / before if before else 0.0}
    rows.sort(key=lambda row: row.object)
    instructions = [
        msgspec.structs.replace(row, misses=row.misses * factors.get(row.object, 1.0))
        for row in phase.instructions
    ]
    return msgspec.structs.replace(phase, objects=rows, instructions=instructions)


def _traffic(row: ObjectTraffic, part: PartTraffic) -> Traffic:
    """Return the part's traffic; shares in sequence and of page walks are those of the object."""
    whole = row.traffic
    before = whole.misses()
    share = part.lines / before if before else 0.0
    reads, writes = AccessClasses(**part.reads), AccessClasses(**part.writes)
    other = {
        name: getattr(whole, name) * share
        for name in ("tlb_misses_4k", "tlb_misses_2m", "private_misses", "transfers")
    }
    return msgspec.structs.replace(
        whole,
        accesses=max(part.accesses, part.lines),
        read_misses=reads,
        write_misses=writes,
        read_sequential=_sequential(whole.read_sequential, whole.read_misses, reads),
        write_sequential=_sequential(whole.write_sequential, whole.write_misses, writes),
        write_backs=min(part.lines, whole.write_backs * part.stores_share),
        **other,
    )


def _sequential(part: AccessClasses, of: AccessClasses, own: AccessClasses) -> AccessClasses:
    """Return `own` scaled by the ratio of `part` to `of`, by class."""
    shares = {
        name: getattr(part, name) / getattr(of, name) if getattr(of, name) else 0.0
        for name in part.__struct_fields__
    }
    return AccessClasses(**{name: shares[name] * getattr(own, name) for name in shares})


def _curve(row: ObjectTraffic, share: float) -> MissCurve | None:
    if row.curve is None:
        return None
    return MissCurve(
        read=[count * share for count in row.curve.read],
        write=[count * share for count in row.curve.write],
    )


class NearTimes:
    """Ratios of each phase's near time after a split to that before."""

    def __init__(self, before: WorkloadProfile, near: MemoryCosts) -> None:
        """Fit the model to near time, and again with each uncertain input changed separately."""
        self._models = [
            [
                InversionModel(phase, near, near, change)
                for change in (NO_PERTURBATION, *perturbations(InversionModel, phase, near, near))
            ]
            for phase in phases_of(before)
        ]

    def factors(self, after: WorkloadProfile) -> list[Estimate]:
        """Return each phase's factor with its 90 % interval."""
        factors = []
        for models, new in zip(self._models, phases_of(after), strict=True):
            ratios = []
            for model in models:
                own = model.near_time_of_ns(model.phase.total)
                ratios.append(model.near_time_of_ns(new.total) / own if own > 0.0 else 1.0)
            factors.append(Estimate(ratios[0], min(ratios), max(ratios)))
        return factors


def with_near_time(workload: WorkloadProfile, factors: list[Estimate]) -> WorkloadProfile:
    """Return the profile with each phase's near time times its factor."""
    phases = [
        msgspec.structs.replace(
            phase,
            near_cpu_time_ns=scale_estimate(phase.near_cpu_time_ns, factor.value),
            near_wall_time_ns=phase.near_wall_time_ns * factor.value,
        )
        for phase, factor in zip(workload.phases, factors, strict=True)
    ]
    return msgspec.structs.replace(workload, phases=phases)

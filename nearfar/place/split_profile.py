"""The profile of a program after one of its types is split, as far as models need it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from nearfar.base.estimate import scale_estimate
from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import (
    AccessClasses,
    MissCurve,
    ObjectTraffic,
    Phase,
    Traffic,
)
from nearfar.place.hot_cold import HotCold, Visits
from nearfar.place.object_curves import curves_of
from nearfar.place.split_traffic import NO_WAITS, PartTraffic, Waits, split_traffic


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


class BothWaits(NamedTuple):
    """Waits for the object that is split in one phase, besides its misses."""

    before: Waits
    after: Waits


def split_profile(
    workload: WorkloadProfile, split: HotCold, visits: Visits
) -> tuple[WorkloadProfile, list[BothWaits]]:
    """Return the profile with the split object as two, and other waits than misses by phase.

    The object becomes its hot part; the cold part is the last object. Near time is still that
    without the split.
    """
    number, cold = split.use.object, len(workload.objects)
    owner = workload.objects[number]
    hot_stride, cold_stride = split.strides
    scale = 1.0 / split.use.layout.stride_bytes

    def part(name: str, stride: int, at: int) -> object:
        sizes = {
            field: round(getattr(owner, field) * stride * scale)
            for field in ("allocated_bytes", "peak_live_bytes", "live_bytes_at_peak", "size_bytes")
        }
        return msgspec.structs.replace(owner, id=at, name=f"{owner.name}, {name}", **sizes)

    objects = list(workload.objects)
    objects[number] = part("hot fields", hot_stride, number)  # type: ignore[call-overload]
    objects.append(part("cold fields", cold_stride, cold))  # type: ignore[arg-type]
    phases, waits = [], []
    for phase in workload.phases:
        after, both = _phase(workload, phase, split, visits, cold)
        phases.append(after)
        waits.append(both)
    misses = sum(row.traffic.misses() for phase in phases for row in phase.objects)
    before = sum(row.traffic.misses() for phase in workload.phases for row in phase.objects)
    sampled = workload.sampling.sampled_misses * (misses / before if before else 1.0)
    profile = msgspec.structs.replace(
        workload,
        objects=objects,
        phases=phases,
        live=[],
        sampling=msgspec.structs.replace(workload.sampling, sampled_misses=round(sampled)),
    )
    return profile, waits


def _phase(
    workload: WorkloadProfile, phase: Phase, split: HotCold, visits: Visits, cold: int
) -> tuple[Phase, BothWaits]:
    rows: list[ObjectTraffic] = []
    factors: Mapping[int, float] = {}
    waits = BothWaits(NO_WAITS, NO_WAITS)
    for row in phase.objects:
        if row.object != split.use.object:
            rows.append(row)
            continue
        accesses = split.use.phases[phase.name]
        after = split_traffic(split, row, accesses, curves_of(workload, row), visits)
        before = row.traffic.misses()
        for at, part in ((row.object, after.hot), (cold, after.cold)):
            share = part.lines / before if before else 0.0
            rows.append(
                ObjectTraffic(object=at, traffic=_traffic(row, part), curve=_curve(row, share))
            )
        waits = BothWaits(after.before, after.after)
        factors = {row.object: after.hot.lines / before if before else 0.0}
    rows.sort(key=lambda row: row.object)
    instructions = [
        msgspec.structs.replace(row, misses=row.misses * factors.get(row.object, 1.0))
        for row in phase.instructions
    ]
    return msgspec.structs.replace(phase, objects=rows, instructions=instructions), waits


def _traffic(row: ObjectTraffic, part: PartTraffic) -> Traffic:
    """Return the part's traffic; its shares in sequence are those of the object."""
    whole = row.traffic
    before = whole.misses()
    share = part.lines / before if before else 0.0
    reads, writes = AccessClasses(**part.reads), AccessClasses(**part.writes)
    return msgspec.structs.replace(
        whole,
        accesses=max(part.accesses, part.lines),
        read_misses=reads,
        write_misses=writes,
        read_sequential=_sequential(whole.read_sequential, whole.read_misses, reads),
        write_sequential=_sequential(whole.write_sequential, whole.write_misses, writes),
        write_backs=min(part.lines, whole.write_backs * part.stores_share),
        tlb_misses_4k=part.waits.walks + part.waits.pages if whole.tlb_misses_4k else 0.0,
        tlb_misses_2m=whole.tlb_misses_2m * share,
        private_misses=max(part.private, part.lines) if whole.private_misses else 0.0,
        transfers=whole.transfers * share,
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


def with_near_time(workload: WorkloadProfile, times_ns: list[float]) -> WorkloadProfile:
    """Return the profile with these near times of its phases."""
    phases = []
    for phase, time_ns in zip(workload.phases, times_ns, strict=True):
        own_ns = phase.near_cpu_time_ns.value
        factor = time_ns / own_ns if own_ns else 1.0
        phases.append(
            msgspec.structs.replace(
                phase,
                near_cpu_time_ns=scale_estimate(phase.near_cpu_time_ns, factor),
                near_wall_time_ns=phase.near_wall_time_ns * factor,
            )
        )
    return msgspec.structs.replace(workload, phases=phases)

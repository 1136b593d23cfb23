"""A prediction and plans for the report's tests, made from samples.py's documents.

The arithmetic is simple (misses x latency difference over a fixed parallelism), so that a test can
distinguish the report's errors from those of predict or place.
"""

from __future__ import annotations

import samples

from nearfar.base.estimate import Estimate
from nearfar.documents import DeviceProfile, Plan, Prediction, WorkloadProfile, producer
from nearfar.documents.plan import Alternative, FrontierPoint, Placement, Prices
from nearfar.documents.prediction import (
    DevicePrediction,
    ModelTime,
    ObjectEffect,
    PhasePrediction,
)
from nearfar.documents.workload import Phase
from nearfar.report.data import ReportData
from nearfar.report.prepare import prepare

PARALLELISM = 2.0


def spread(value: float, part: float = 0.15) -> Estimate:
    return Estimate(value, value * (1 - part), value * (1 + part))


def latency_ns(device: DeviceProfile) -> float:
    return device.latency[0].value_ns


def phase_prediction(
    profile: WorkloadProfile, name: str, phases: list[Phase], near: float, far: float
) -> PhasePrediction:
    misses = [0.0] * len(profile.objects)
    back = [0.0] * len(profile.objects)
    for phase in phases:
        for row in phase.objects:
            misses[row.object] += row.traffic.misses()
            back[row.object] += row.traffic.write_backs
    effects = [
        ObjectEffect(
            object=each.id,
            name=each.name,
            size_bytes=each.size_bytes,
            added_ns=spread(misses[each.id] * (far - near) / PARALLELISM),
            misses=misses[each.id],
            write_backs=back[each.id],
        )
        for each in profile.objects
    ]
    near_ns = sum(phase.near_cpu_time_ns.value for phase in phases)
    added = sum(effect.added_ns.value for effect in effects)
    far_ns = near_ns + added
    slow = Estimate(far_ns / near_ns, 1 + 0.85 * added / near_ns, 1 + 1.15 * added / near_ns)
    operations = phases[0].operations if len(phases) == 1 else None
    return PhasePrediction(
        phase=name,
        near_time_ns=spread(near_ns, 0.02),
        far_time_ns=Estimate(far_ns, near_ns * slow.low, near_ns * slow.high),
        slowdown=slow,
        operations=operations,
        near_ns_per_operation=near_ns / operations if operations else None,
        far_ns_per_operation=spread(far_ns / operations) if operations else None,
        bound="latency",
        effective_parallelism=PARALLELISM,
        far_read_gb_per_s=sum(misses) * 64 / far_ns,
        far_write_gb_per_s=sum(back) * 64 / far_ns,
        models=[
            ModelTime(model="null", time_ns=near_ns, slowdown=1.0),
            ModelTime(model="latency-ratio", time_ns=near_ns * far / near, slowdown=far / near),
        ],
        objects=effects,
    )


def prediction(
    profile: WorkloadProfile, near: DeviceProfile, fars: list[DeviceProfile]
) -> Prediction:
    devices = []
    for far in fars:
        ends = latency_ns(near), latency_ns(far)
        devices.append(
            DevicePrediction(
                far=far.name,
                title=far.title,
                phases=[phase_prediction(profile, p.name, [p], *ends) for p in profile.phases],
                total=phase_prediction(profile, "total", profile.phases, *ends),
                caveats=["page walks are not modelled"],
            )
        )
    return Prediction(
        producer=producer(["tests"]),
        profile="run.json",
        near=near.name,
        model="made-up",
        devices=devices,
    )


def plan(
    profile: WorkloadProfile, near: str, far: str, phase: PhasePrediction, budget_bytes: int
) -> Plan:
    prices = Prices()
    footprint = sum(each.size_bytes for each in profile.objects)
    order = sorted(phase.objects, key=lambda e: -e.added_ns.value / max(1, e.size_bytes))
    near_ns, time, taken = phase.near_time_ns.value, phase.far_time_ns.value, 0

    def cost(near_bytes: int) -> float:
        far_share = 1 - near_bytes / footprint if footprint else 0.0
        return 1 - far_share * (1 - prices.far_per_byte / prices.near_per_byte)

    def point(added: int | None) -> FrontierPoint:
        return FrontierPoint(
            near_bytes=taken,
            object_added=added,
            time_ns=spread(time, 0.05),
            slowdown=spread(time / near_ns, 0.05),
            cost_relative=cost(taken),
        )

    frontier = [point(None)]
    kept: set[int] = set()
    for effect in order:
        taken += effect.size_bytes
        time -= effect.added_ns.value
        frontier.append(point(effect.object))
        if taken <= budget_bytes:
            kept.add(effect.object)
    here = max((p for p in frontier if p.near_bytes <= budget_bytes), key=lambda p: p.near_bytes)

    def bar(name: str, near_bytes: int, slowdown: float) -> Alternative:
        return Alternative(
            name=name,  # type: ignore[arg-type]
            near_bytes=near_bytes,
            time_ns=spread(near_ns * slowdown, 0.05),
            slowdown=spread(slowdown, 0.05),
            cost_relative=cost(near_bytes),
        )

    far_slow, part = phase.slowdown.value, min(1.0, budget_bytes / max(1, footprint))
    return Plan(
        producer=producer(["tests"]),
        profile="run.json",
        near=near,
        far=far,
        phase=phase.phase,
        budget_bytes=budget_bytes,
        footprint_bytes=footprint,
        placements=[
            Placement(
                object=effect.object,
                name=effect.name,
                size_bytes=effect.size_bytes,
                memory="near" if effect.object in kept else "far",
                added_ns_if_far=effect.added_ns,
            )
            for effect in phase.objects
        ],
        alternatives=[
            bar("all-near", footprint, 1.0),
            bar("all-far", 0, far_slow),
            bar("page-interleaved", budget_bytes, far_slow - (far_slow - 1) * part),
            bar("hot-first", budget_bytes, (far_slow + here.slowdown.value) / 2),
            bar("greedy", here.near_bytes, here.slowdown.value),
        ],
        frontier=frontier,
        prices=prices,
        proven_gap=None,
    )


def devices() -> tuple[DeviceProfile, list[DeviceProfile]]:
    near = samples.device("near-dram", 90.0, 20.0, 14.0)
    fars = [
        samples.device("cxl-made-up", 210.0, 24.0, 12.0),
        samples.device("optane-made-up", 305.0, 7.5, 2.0),
        samples.device("remote-made-up", 140.0, 18.0, 10.0),
    ]
    return near, fars


def data(
    profile: WorkloadProfile | None = None,
    shares: tuple[float, ...] = (0.10, 0.25, 0.50),
    **options: object,
) -> ReportData:
    profile = profile or samples.workload(objects=40)
    near, fars = devices()
    made = prediction(profile, near, fars)
    footprint = sum(each.size_bytes for each in profile.objects)
    plans = [
        (f"{share:.0%}", plan(profile, near.name, device.far, phase, int(share * footprint)))
        for device in made.devices
        for phase in (device.total, *device.phases)
        for share in shares
    ]
    return prepare(profile, near, fars, made, plans, **options)  # type: ignore[arg-type]

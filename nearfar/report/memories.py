"""Memories as the page shows them, and where the program works on their curves."""

from __future__ import annotations

from nearfar.devices import curves
from nearfar.documents import DeviceProfile, Prediction
from nearfar.documents.device import Figure, LoadedLatencyCurve
from nearfar.documents.prediction import DevicePrediction, PhasePrediction
from nearfar.documents.workload import WorkloadProfile
from nearfar.report.data import MemoryFacts, ReportCurve, SourceFacts, WorkingPoint


def memory_facts(device: DeviceProfile, role: str) -> MemoryFacts:
    """Return the page's facts about `device`; `role` is near, far or beside."""
    return MemoryFacts(
        name=device.name,
        title=device.title,
        technology=device.technology,
        role=role,  # type: ignore[arg-type]
        idle_latency_ns=idle_latency_ns(device),
        read_gb_per_s=_best_gb_per_s(device, ("read",)),
        write_gb_per_s=_best_gb_per_s(device, ("write", "nt-store")),
        curves=[
            ReportCurve(
                read_share=curve.read_share,
                points=curve.points,
                how=curve.how,
                source=curve.source,
                note=curve.note,
                oddities=curve.oddities,
            )
            for curve in curves.plain_curves(device.loaded_latency)
        ],
        sources=_sources(device),
        measured=_measured(device),
        warnings=device.measured.warnings if device.measured else [],
    )


def far_facts(devices: list[DeviceProfile], prediction: Prediction) -> list[MemoryFacts]:
    """Return the far memories' facts; memories faster than near memory are last."""
    predicted = {device.far: device for device in prediction.devices}
    facts = []
    for device in devices:
        fact = memory_facts(device, "far")
        predicted_device = predicted.get(device.name)
        if predicted_device is not None:
            fact.latency_taken = latency_origin(prediction, predicted_device)
            fact.latency_taken_ns = predicted_device.latency_ns
            fact.faster = is_faster(prediction, predicted_device)
        facts.append(fact)
    return sorted(facts, key=lambda fact: fact.faster)


def idle_latency_ns(device: DeviceProfile) -> float | None:
    """Return the read latency of a dependent chase over the largest region, ns."""
    chase = curves.idle_latency_ns(device, "read")
    return None if chase is None else chase.value_ns


def _best_gb_per_s(device: DeviceProfile, operations: tuple[str, ...]) -> float | None:
    values = [f.value_gb_per_s for f in device.bandwidth if f.operation in operations]
    return max(values, default=None)


def _sources(device: DeviceProfile) -> list[SourceFacts]:
    figures: list[Figure] = [
        *device.latency,
        *device.bandwidth,
        *device.chains,
        *device.loaded_latency,
        *device.buffers,
        *device.stalls,
    ]
    counts: dict[str, dict[str, int]] = {key: {} for key in device.sources}
    for figure in figures:
        had = counts.setdefault(figure.source, {})
        had[figure.how] = had.get(figure.how, 0) + 1
    return [
        SourceFacts(
            citation=source.citation,
            where=source.where,
            licence=source.licence,
            figures=counts[key],
        )
        for key, source in device.sources.items()
    ]


def _measured(device: DeviceProfile) -> str:
    context = device.measured
    if context is None:
        return ""
    return (
        f"measured on {device.producer.cpu_model} ({device.producer.time_utc}) as "
        f"{context.memory_spec}: {context.repetitions} repetitions in {context.seconds:.0f} s, "
        f"A/A noise {context.noise_floor:.1%}"
    )


def near_point(profile: WorkloadProfile, near: DeviceProfile, phase: str) -> WorkingPoint:
    """Return the program's bandwidth and latency on near memory, from misses and wall time."""
    chosen = [p for p in profile.phases if phase in (p.name, "total")]
    line_bytes = profile.cache.line_bytes
    read = sum(o.traffic.misses() for p in chosen for o in p.objects) * line_bytes
    written = sum(o.traffic.write_backs for p in chosen for o in p.objects) * line_bytes
    # All threads share the bandwidth, so bytes are divided by wall time, not by CPU time.
    time_ns = sum(p.near_wall_time_ns or p.near_cpu_time_ns.value for p in chosen)
    # Bytes per ns are GB/s.
    scale = 1.0 / time_ns if time_ns > 0 else 0.0
    return _point(near, phase, read * scale, written * scale)


def far_points(device: DeviceProfile, prediction: DevicePrediction) -> list[WorkingPoint]:
    """Return the program's bandwidth and latency on a far memory, for each phase."""
    phases: list[PhasePrediction] = [prediction.total, *prediction.phases]
    return [_point(device, p.phase, p.far_read_gb_per_s, p.far_write_gb_per_s) for p in phases]


def _point(device: DeviceProfile, phase: str, read: float, written: float) -> WorkingPoint:
    traffic = read + written
    share = read / traffic if traffic > 0 else 1.0
    latency, beyond = None, False
    curve = curves.loaded_curve(device, share)
    if curve is not None:
        latency, beyond = latency_at(curve, traffic)
    return WorkingPoint(
        memory=device.name,
        phase=phase,
        traffic_gb_per_s=traffic,
        read_share=share,
        latency_ns=latency,
        beyond=beyond,
    )


def latency_at(curve: LoadedLatencyCurve, traffic_gb_per_s: float) -> tuple[float | None, bool]:
    """Return the latency at this traffic, and whether the traffic is beyond the curve's rise.

    Traffic below the first point gets the first point's latency: no memory is faster than idle.
    """
    if not curve.points:
        return None, False
    before = curve.points[0]
    if traffic_gb_per_s <= before[0]:
        return before[1], False
    for after in curve.points[1:]:
        if after[0] >= traffic_gb_per_s > before[0]:
            part = (traffic_gb_per_s - before[0]) / (after[0] - before[0])
            return before[1] + part * (after[1] - before[1]), False
        before = after
    return max(curve.points)[1], True


MAX_FASTER_RATIO = 0.98
"""Ratio of far to near latency below which a memory counts as faster, as in `nearfar predict`; 2 %
is within noise."""


def latency_origin(prediction: Prediction, far: DevicePrediction) -> str:
    """Return ``174 + 69 ns: near here plus ...``; empty if the prediction lacks the parts."""
    near_ns, far_ns = prediction.near_latency_ns, far.latency_ns
    if far_ns is None or far.latency_from is None:
        return ""
    if far.latency_from == "measured":
        return f"{far_ns:.0f} ns, measured here"
    if far.latency_from == "added" and near_ns is not None and far_ns >= near_ns:
        added = f"{near_ns:.0f} + {far_ns - near_ns:.0f} ns"
        return f"{added}: near here plus what it added over its own host's DRAM"
    if far.latency_from in ("added", "ratio") and near_ns:
        # A memory faster than its host's DRAM adds no latency, so the ratio is shown instead.
        share = f"{near_ns:.0f} × {far_ns / near_ns:.2f} ns"
        return f"{share}: near here times its ratio to its own host's DRAM"
    return f"{far_ns:.0f} ns, as published: its host's DRAM is not known or is this machine's"


def is_faster(prediction: Prediction, far: DevicePrediction) -> bool:
    """Return whether a far memory has a lower latency than near memory here."""
    near_ns, far_ns = prediction.near_latency_ns, far.latency_ns
    return bool(near_ns and far_ns and far_ns < MAX_FASTER_RATIO * near_ns)

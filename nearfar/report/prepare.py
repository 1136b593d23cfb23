"""Documents to `ReportData`: nothing is drawn here and no file but source text is read."""

from __future__ import annotations

from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.documents import DeviceProfile, Plan, Prediction, WorkloadProfile, producer
from nearfar.documents.prediction import DevicePrediction, PhasePrediction
from nearfar.documents.workload import MemoryObject, ObjectTraffic, Phase
from nearfar.profile.summary import other_counts
from nearfar.report.answer import answer
from nearfar.report.data import (
    TOTAL,
    Effect,
    Method,
    ObjectFacts,
    PhaseFacts,
    ReportChoice,
    ReportData,
    Triple,
)
from nearfar.report.frontiers import Stop, frontier
from nearfar.report.labels import label, short_label
from nearfar.report.lines import source_lines
from nearfar.report.live import live
from nearfar.report.memories import far_facts, far_points, memory_facts, near_point

NO_PLANS = ("page-interleaved", "bandwidth-interleaved", "memory-mode")
"""Bars that are no placement of objects."""


def prepare(
    profile: WorkloadProfile,
    near: DeviceProfile,
    fars: list[DeviceProfile],
    prediction: Prediction,
    plans: list[tuple[str, Plan]],
    *,
    stops: dict[tuple[str, str], list[Stop]] | None = None,
    beside: list[DeviceProfile] | None = None,
    first_memory: str | None = None,
    first_phase: str = TOTAL,
    first_budget_bytes: int | None = None,
    source_folders: list[Path] | None = None,
    how: list[str] | None = None,
) -> ReportData:
    """Return all the page's data.

    `plans` come with their origin (``25 %``, ``--budget 2GiB``); the first of each far memory
    and phase gives the frontier, and each gives the bars of its budget. `stops` are more
    plans by far memory and phase, for the slider. `how` explains the
    model and its intervals in paragraphs.
    """
    check_phase(profile, first_phase)
    position = {thing.id: number for number, thing in enumerate(profile.objects)}
    objects = [_object(thing) for thing in profile.objects]
    far_by_name = {device.name: device for device in fars}
    near_facts = memory_facts(near, "near")
    near_facts.latency_taken_ns = prediction.near_latency_ns
    memories = [
        near_facts,
        *far_facts(fars, prediction),
        *(memory_facts(device, "beside") for device in beside or []),
    ]
    effects = [
        _effect(device, phase, len(objects), position)
        for device in prediction.devices
        for phase in (device.total, *device.phases)
    ]
    first_plans: dict[tuple[str, str], Plan] = {}
    for _, plan in plans:
        first_plans.setdefault((plan.far, plan.phase), plan)
    effect_of = {(effect.memory, effect.phase): effect for effect in effects}
    general = {caveat for device in prediction.devices for caveat in device.caveats}
    choices = [_choice(origin, plan, position, general) for origin, plan in plans]
    frontiers = [
        frontier(
            plan,
            position,
            [choice for choice in choices if (choice.memory, choice.phase) == key],
            (stops or {}).get(key, []),
        )
        for key, plan in first_plans.items()
    ]
    phases = [_total(profile, position), *(_phase(p, position) for p in profile.phases)]
    title = program_name(profile)
    names = [phase.name for phase in phases]
    return ReportData(
        title=title,
        first_memory=first_memory
        or _slowest(effects, first_phase)
        or next((device.name for device in fars), ""),
        first_phase=first_phase,
        first_budget_bytes=first_budget_bytes,
        footprint_bytes=sum(thing.size_bytes for thing in profile.objects),
        objects=objects,
        phases=phases,
        memories=memories,
        effects=effects,
        points=[
            *(near_point(profile, near, name) for name in names),
            *(
                point
                for device in prediction.devices
                for point in far_points(far_by_name[device.far], device)
            ),
        ],
        frontiers=frontiers,
        choices=choices,
        answers=[
            answer(
                program=title,
                phase=name,
                memories=[memory for memory in memories if memory.role == "far"],
                effects=effect_of,
                choices=choices,
                objects=objects,
            )
            for name in names
        ],
        lines=source_lines(profile, position, source_folders or []),
        live=live(profile, position),
        method=_method(profile, prediction, [plan for _, plan in plans], how or []),
    )


def check_phase(profile: WorkloadProfile, phase: str) -> None:
    """Refuse a phase that the profile does not have."""
    names = [TOTAL, *(p.name for p in profile.phases)]
    if phase not in names:
        raise NearfarError(f"there is no phase {phase!r} in the profile; there are: {names}")


def program_name(profile: WorkloadProfile) -> str:
    """Return the program's name without folders."""
    command = profile.program.command
    return Path(command[0]).name if command else Path(profile.program.executable).name


def rounded(value: float) -> float:
    """Round to six significant digits: counts are sampled, and three of them are noise."""
    return float(f"{value:.6g}")


def _slowest(effects: list[Effect], phase: str) -> str:
    chosen = [effect for effect in effects if effect.phase == phase]
    return max(chosen, key=lambda e: e.slowdown.value).memory if chosen else ""


def _object(thing: MemoryObject) -> ObjectFacts:
    return ObjectFacts(
        id=thing.id,
        name=thing.name,
        label=label(thing.name),
        short=short_label(thing.name),
        kind=thing.kind,
        frames=thing.frames,
        size_bytes=thing.size_bytes,
        allocations=thing.allocations,
    )


def _phase(phase: Phase, position: dict[int, int]) -> PhaseFacts:
    columns = _columns(phase.objects, position)
    operations = phase.operations
    near = phase.near_cpu_time_ns
    return PhaseFacts(
        name=phase.name,
        near_cpu_time_ns=near,
        repetitions=phase.near_repetitions,
        operations=operations,
        near_ns_per_operation=near.value / operations if operations else None,
        **columns,
    )


def _total(profile: WorkloadProfile, position: dict[int, int]) -> PhaseFacts:
    rows = [row for phase in profile.phases for row in phase.objects]
    times = [phase.near_cpu_time_ns for phase in profile.phases]
    # The ends are added too: what makes one phase slow (clock, neighbours) makes all slow.
    near = Estimate(
        sum(t.value for t in times), sum(t.low for t in times), sum(t.high for t in times)
    )
    return PhaseFacts(
        name=TOTAL,
        near_cpu_time_ns=near,
        repetitions=min((phase.near_repetitions for phase in profile.phases), default=0),
        operations=None,
        near_ns_per_operation=None,
        **_columns(rows, position),
    )


def _columns(rows: list[ObjectTraffic], position: dict[int, int]) -> dict[str, list[float]]:
    names = ("accesses", "chase", "indirect", "stream", "opaque", "write_backs")
    columns = {name: [0.0] * len(position) for name in names}
    for row in rows:
        where, traffic = position[row.object], row.traffic
        columns["accesses"][where] += traffic.accesses
        columns["write_backs"][where] += traffic.write_backs
        for name in ("chase", "indirect", "stream", "opaque"):
            columns[name][where] += getattr(traffic.read_misses, name)
            columns[name][where] += getattr(traffic.write_misses, name)
    return {name: [rounded(value) for value in column] for name, column in columns.items()}


def _effect(
    device: DevicePrediction, phase: PhasePrediction, objects: int, position: dict[int, int]
) -> Effect:
    added: list[Triple] = [(0.0, 0.0, 0.0)] * objects
    for row in phase.objects:
        one = row.added_ns
        added[position[row.object]] = (rounded(one.value), rounded(one.low), rounded(one.high))
    return Effect(
        memory=device.far,
        phase=phase.phase,
        near_time_ns=phase.near_time_ns,
        far_time_ns=phase.far_time_ns,
        slowdown=phase.slowdown,
        near_ns_per_operation=phase.near_ns_per_operation,
        far_ns_per_operation=phase.far_ns_per_operation,
        bound=phase.bound,
        effective_parallelism=phase.effective_parallelism,
        models=phase.models,
        calibrated=device.interval_calibrated,
        added_ns=added,
    )


def _choice(origin: str, plan: Plan, position: dict[int, int], general: set[str]) -> ReportChoice:
    near = sorted(
        (p for p in plan.placements if p.memory == "near"), key=lambda p: -p.added_ns_if_far.value
    )
    taken = sum(p.size_bytes for p in near)
    # A plan that is none of the other ways has a bar of its own; else it is the one that takes as
    # much near memory as its placements, and the better one where two do.
    named = "per-phase" if plan.phases else "plan"
    rivals = [bar for bar in plan.alternatives if bar.name == named] or [
        bar for bar in plan.alternatives if bar.name not in NO_PLANS
    ]
    own = min(rivals, key=lambda bar: (abs(bar.near_bytes - taken), bar.time_ns.value))
    return ReportChoice(
        memory=plan.far,
        phase=plan.phase,
        budget_bytes=plan.budget_bytes,
        origin=origin,
        near=[position[p.object] for p in near],
        plan=own,
        alternatives=plan.alternatives,
        proven_gap=plan.proven_gap,
        caveats=[caveat for caveat in plan.caveats if caveat not in general],
    )


def _method(
    profile: WorkloadProfile, prediction: Prediction, plans: list[Plan], how: list[str]
) -> Method:
    told: dict[str, list[str]] = {}
    for device in prediction.devices:
        for caveat in device.caveats:
            told.setdefault(caveat, []).append(device.title)
    all_devices = len(prediction.devices)
    caveats = [
        caveat if len(titles) == all_devices else f"{', '.join(titles)}: {caveat}"
        for caveat, titles in told.items()
    ]
    return Method(
        profile=profile.producer,
        report=producer(),
        program=profile.program,
        size=profile.size,
        cache=profile.cache,
        sampling=profile.sampling,
        instrumented_slowdown=profile.instrumented_slowdown,
        beside_misses=other_counts(profile),
        model=prediction.model,
        how=how,
        prices=plans[0].prices if plans else None,
        warnings=profile.warnings,
        caveats=caveats,
    )

"""Convert documents to `ReportData`; the only files it reads are the program's sources."""

from __future__ import annotations

from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.base.units import format_ns
from nearfar.documents import DeviceProfile, Plan, Prediction, WorkloadProfile, producer
from nearfar.documents.plan import Placement
from nearfar.documents.prediction import DevicePrediction, PhasePrediction
from nearfar.documents.workload import MemoryObject, ObjectTraffic, Phase
from nearfar.predict.phases import check_phase_names
from nearfar.profile.summary import other_counts
from nearfar.report.answer import answer
from nearfar.report.data import (
    TOTAL,
    Effect,
    MemoryFacts,
    Method,
    ObjectFacts,
    PhaseFacts,
    ReportAnswer,
    ReportBreakdown,
    ReportChoice,
    ReportData,
    ReportFrontier,
    Triple,
    WorkingPoint,
)
from nearfar.report.frontiers import SliderStop, frontier
from nearfar.report.inside import object_ranges, placed_ranges
from nearfar.report.labels import label, short_labels
from nearfar.report.lines import live, source_lines
from nearfar.report.memories import far_facts, far_points, memory_facts, near_point

NO_PLACEMENTS = ("page-interleaved", "bandwidth-interleaved", "memory-mode")
"""Bars that are not placements of objects."""


def prepare(
    profile: WorkloadProfile,
    near: DeviceProfile,
    fars: list[DeviceProfile],
    prediction: Prediction,
    plans: list[tuple[str, Plan]],
    *,
    stops: dict[tuple[str, str], list[SliderStop]] | None = None,
    beside: list[DeviceProfile] | None = None,
    first_memory: str | None = None,
    first_phase: str = TOTAL,
    first_budget_bytes: int | None = None,
    source_folders: list[Path] | None = None,
    how: list[str] | None = None,
) -> ReportData:
    """Return all the page's data.

    `plans` are (origin, plan), where the origin is ``25 %`` or ``--budget 2GiB``. The first plan
    of each (far memory, phase) gives the frontier; every plan gives the bars of its budget.
    `stops` are more plans for the slider. `how` explains the model and its intervals.
    """
    check_phase(profile, first_phase)
    position = {owner.id: number for number, owner in enumerate(profile.objects)}
    labels = [label(owner.name) for owner in profile.objects]
    named = zip(profile.objects, labels, short_labels(labels), strict=True)
    objects = [_object(*each) for each in named]
    memories = _memories(near, fars, prediction, beside or [])
    effects = [
        _effect(device, phase, len(objects), position)
        for device in prediction.devices
        for phase in (device.total, *device.phases)
    ]
    general = {caveat for device in prediction.devices for caveat in device.caveats}
    choices = [_choice(origin, plan, position, general) for origin, plan in plans]
    phases = [_total(profile, position), *(_phase(p, position) for p in profile.phases)]
    title = program_name(profile)
    return ReportData(
        title=title,
        first_memory=first_memory
        or _slowest(effects, first_phase)
        or next((device.name for device in fars), ""),
        first_phase=first_phase,
        first_budget_bytes=first_budget_bytes,
        footprint_bytes=sum(owner.size_bytes for owner in profile.objects),
        objects=objects,
        phases=phases,
        memories=memories,
        effects=effects,
        breakdowns=_breakdowns(prediction, position),
        points=_points(profile, near, fars, prediction),
        frontiers=_frontiers([plan for _, plan in plans], choices, stops or {}, position),
        choices=choices,
        answers=_answers(profile, phases, memories, effects, choices=choices, objects=objects),
        ranges=object_ranges(profile, position),
        lines=source_lines(profile, position, source_folders or []),
        live=live(profile, position),
        method=_method(profile, prediction, [plan for _, plan in plans], how or []),
    )


def _memories(
    near: DeviceProfile,
    fars: list[DeviceProfile],
    prediction: Prediction,
    beside: list[DeviceProfile],
) -> list[MemoryFacts]:
    near_facts = memory_facts(near, "near")
    near_facts.latency_taken_ns = prediction.near_latency_ns
    drawn = [memory_facts(device, "beside") for device in beside]
    return [near_facts, *far_facts(fars, prediction), *drawn]


def _answers(
    profile: WorkloadProfile,
    phases: list[PhaseFacts],
    memories: list[MemoryFacts],
    effects: list[Effect],
    *,
    choices: list[ReportChoice],
    objects: list[ObjectFacts],
) -> list[ReportAnswer]:
    far = [memory for memory in memories if memory.role == "far"]
    by_key = {(effect.memory, effect.phase): effect for effect in effects}
    return [
        answer(
            program=_subject(profile),
            phase=phase.name,
            memories=far,
            effects=by_key,
            choices=choices,
            objects=objects,
            observed=profile.uncounted_share < 1.0,
            whole=program_name(profile) if is_part(profile) else "",
        )
        for phase in phases
    ]


def _breakdowns(prediction: Prediction, position: dict[int, int]) -> list[ReportBreakdown]:
    return [
        ReportBreakdown(
            memory=device.far,
            object=None if entry.object is None else position[entry.object],
            breakdown=entry,
        )
        for device in prediction.devices
        for entry in device.explained
    ]


def _points(
    profile: WorkloadProfile,
    near: DeviceProfile,
    fars: list[DeviceProfile],
    prediction: Prediction,
) -> list[WorkingPoint]:
    names = [TOTAL, *(phase.name for phase in profile.phases)]
    points = [near_point(profile, near, name) for name in names]
    far_by_name = {device.name: device for device in fars}
    for device in prediction.devices:
        points += far_points(far_by_name[device.far], device)
    return points


def _frontiers(
    plans: list[Plan],
    choices: list[ReportChoice],
    stops: dict[tuple[str, str], list[SliderStop]],
    position: dict[int, int],
) -> list[ReportFrontier]:
    """Return a frontier for the first plan of each far memory and phase."""
    first: dict[tuple[str, str], Plan] = {}
    for plan in plans:
        first.setdefault((plan.far, plan.phase), plan)
    return [
        frontier(
            plan,
            position,
            [choice for choice in choices if (choice.memory, choice.phase) == key],
            stops.get(key, []),
        )
        for key, plan in first.items()
    ]


def check_phase(profile: WorkloadProfile, phase: str) -> None:
    """Refuse a phase that is neither the whole profile nor one of its phases."""
    check_phase_names(profile, [] if phase == TOTAL else [phase])


def is_part(profile: WorkloadProfile) -> bool:
    """Return whether only a part of the program was observed."""
    return profile.seen_share < 1.0 or profile.seen_share_at_most


def _subject(profile: WorkloadProfile) -> str:
    """Return the subject of the answers: the program, or the observed part of it."""
    name = program_name(profile)
    if not is_part(profile):
        return name
    near_ns = sum(phase.near_cpu_time_ns.value for phase in profile.phases)
    share = f"{'at most ' * profile.seen_share_at_most}{profile.seen_share:.0%}"
    return f"The start of {name} ({format_ns(near_ns)}, {share} of its CPU time)"


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


def _object(owner: MemoryObject, whole: str, short: str) -> ObjectFacts:
    return ObjectFacts(
        id=owner.id,
        name=owner.name,
        label=whole,
        short=short,
        kind=owner.kind,
        frames=owner.frames,
        size_bytes=owner.size_bytes,
        allocations=owner.allocations,
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
    # Lows and highs are summed too: a slow clock or other programs slow all phases together.
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
        added_ns = row.added_ns
        added[position[row.object]] = (
            rounded(added_ns.value),
            rounded(added_ns.low),
            rounded(added_ns.high),
        )
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


def _near_share(placement: Placement) -> float:
    if placement.interleave:
        return placement.interleave.get("near", 0) / sum(placement.interleave.values())
    if not placement.parts:
        return float(placement.memory == "near")
    return sum(part.share for part in placement.parts if part.memory == "near")


def _parts(near: list[Placement], position: dict[int, int]) -> dict[int, float]:
    """Return the near share of each object that is partly near."""
    shares = {position[p.object]: rounded(_near_share(p)) for p in near}
    return {number: share for number, share in shares.items() if share < 1.0}


def _choice(origin: str, plan: Plan, position: dict[int, int], general: set[str]) -> ReportChoice:
    near = sorted(
        (p for p in plan.placements if _near_share(p)), key=lambda p: -p.added_ns_if_far.value
    )
    near_bytes = sum(p.size_bytes * _near_share(p) for p in near)
    # The plan's own bar has its name. Without it, the plan is the bar whose near memory is closest
    # to that of the placements; the faster bar wins a tie.
    named = "per-phase" if plan.phases else "plan"
    rivals = [bar for bar in plan.alternatives if bar.name == named] or [
        bar for bar in plan.alternatives if bar.name not in NO_PLACEMENTS
    ]
    if not rivals:
        raise NearfarError(
            f"the plan for {plan.far} has no placement in its alternatives: it is damaged; make it "
            "again with nearfar place"
        )
    own = min(rivals, key=lambda bar: (abs(bar.near_bytes - near_bytes), bar.time_ns.value))
    return ReportChoice(
        memory=plan.far,
        phase=plan.phase,
        budget_bytes=plan.budget_bytes,
        footprint_bytes=plan.footprint_bytes,
        origin=origin,
        near=[position[p.object] for p in near],
        shares=_parts(near, position),
        plan=own,
        alternatives=plan.alternatives,
        proven_gap=plan.proven_gap,
        caveats=[caveat for caveat in plan.caveats if caveat not in general],
        ranges=placed_ranges(plan, position),
    )


def _method(
    profile: WorkloadProfile, prediction: Prediction, plans: list[Plan], how: list[str]
) -> Method:
    titles_of: dict[str, list[str]] = {}
    for device in prediction.devices:
        for caveat in device.caveats:
            titles_of.setdefault(caveat, []).append(device.title)
    all_devices = len(prediction.devices)
    caveats = [
        caveat if len(titles) == all_devices else f"{', '.join(titles)}: {caveat}"
        for caveat, titles in titles_of.items()
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
        noise="" if prediction.noise is None else prediction.noise.sentence,
        warnings=profile.warnings,
        caveats=caveats,
    )

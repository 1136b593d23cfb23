"""The prediction of one paged memory: a row per near budget, and where time doubles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate, sum_estimates
from nearfar.base.units import PAGE_BYTES, format_bytes, parse_budget_bytes
from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.documents.prediction import (
    Bound,
    DevicePrediction,
    ModelTime,
    ObjectEffect,
    PagedAxis,
    PagedBudget,
    PagedPhaseTime,
    PhasePrediction,
)
from nearfar.predict.deviations import joined
from nearfar.predict.paged import (
    PageCosts,
    PagedPhase,
    PageMoves,
    budget_error,
    footprint_pages,
    moved,
    paged_phases,
    random_faults,
)
from nearfar.predict.phases import check_phase_names
from nearfar.predict.total import slowdown_over, total_of
from nearfar.predict.traffic import Array

DEFAULT_BUDGETS = ("75%", "50%", "25%")

MIN_SAMPLED = 100
"""Sampled pages below which a caveat says that they are few."""

CLIFF = 2
"""Slowdown at the cliff."""

CLIFF_STEPS = 200

ENDS = ((1, 1), (2, -1))
"""Low and high end: index into `PageCosts.fault`, and sign of the error of near memory's size."""


TIME_SHARE = 0.4
"""Share of the joined deviations in the interval of time. Most deviations are bounds that few
programs reach, such as random eviction and a process that moves between CPUs all the time. The
share is 1 where no such memory was compared with measured times; docs/constants.md has the data."""

FAULT_SHARE = 0.55
"""The same for the number of faults."""


@dataclass(frozen=True)
class _PhaseAt:
    """One phase with some pages near."""

    phase: PagedPhase
    costs: PageCosts
    near_pages: float
    pages: PageMoves
    by_object_ns: Array
    faults: Estimate
    time_ns: Estimate
    bound: Bound


def _phase_at(phase: PagedPhase, costs: PageCosts, near_pages: float, footprint: float) -> _PhaseAt:
    """Return the phase at one size of near memory, with each error perturbed separately."""
    near = phase.phase.near_cpu_time_ns.value
    central = moved(phase, near_pages, keeps_copies=costs.keeps_copies)
    by_end = costs.added_rows_ns(central)
    by_object = by_end[0]
    back, added = float(central.faults.sum()), float(by_object.sum())
    transfer_ns = costs.transfer_ns(central) * phase.threads
    bound: Bound = "latency" if added > 0.05 * near else "compute"
    if transfer_ns > near + added:
        bound = "bandwidth"
    by_chance = random_faults(phase, near_pages)
    faults, waits = [by_chance], [by_chance * costs.mean_fault_ns(0, central.retouches)]
    error, transfers = budget_error(footprint / phase.page_rate), []
    for end, sign in ENDS:
        size = near_pages * (1.0 + sign * error)
        pages = moved(phase, size, keeps_copies=costs.keeps_copies)
        sampling = 1.0 - sign * 1.645 / math.sqrt(max(back / phase.page_rate, 4.0))
        faults += [float(pages.faults.sum()), back * sampling]
        waits += [float(costs.added_ns(pages).sum()), float(by_end[end].sum()), added * sampling]
        transfers.append(costs.transfer_ns(pages) * phase.threads)
    share = TIME_SHARE if costs.calibrated else 1.0
    wait = _joined_interval(added, waits, share)
    transfer = _joined_interval(transfer_ns, transfers, share)
    time = Estimate(
        max(near + wait.value, transfer.value),
        max(near + wait.low, transfer.low),
        max(near + wait.high, transfer.high),
    )
    counted = _joined_interval(back, faults, FAULT_SHARE if costs.calibrated else 1.0)
    return _PhaseAt(phase, costs, near_pages, central, by_object, counted, time, bound)


def _joined_interval(central: float, ends: Sequence[float], share: float) -> Estimate:
    """Return a value with a share of the joined deviations of `ends`."""
    return joined(central, ends, (), share)


def _ordered(values: Sequence[float]) -> Estimate:
    value, low, high = values
    return Estimate(value, max(0.0, min(low, value)), max(high, value))


def paged_device(
    workload: WorkloadProfile,
    device: DeviceProfile,
    budgets: Sequence[str],
    names: Sequence[str],
    max_objects: int,
    *,
    cliff: bool = True,
) -> DevicePrediction:
    """Predict the phases `names` (all, if none) for every near budget, such as 50% or 2GiB.

    With `cliff`, also find the share at which time doubles, which takes most of the work.
    """
    check_phase_names(workload, names)
    every = paged_phases(workload)
    footprint = footprint_pages(every)
    least = every[0].sizes_pages[0]
    if footprint <= least:
        raise NearfarError(
            f"the profile has {footprint:.0f} pages of 4 KiB in its sample: too few for a paged "
            "memory; profile a larger input"
        )
    shown = [phase for phase in every if not names or phase.phase.name in names]
    costs = [PageCosts(device, phase) for phase in shown]
    rows, sizes = [], []
    for text in [part for budget in budgets or DEFAULT_BUDGETS for part in budget.split(",")]:
        near_bytes = parse_budget_bytes(text, round(footprint * PAGE_BYTES))
        if near_bytes < least * PAGE_BYTES:
            raise NearfarError(
                f"--near-budget {text} leaves {format_bytes(near_bytes)} near: no program runs in "
                f"less than {format_bytes(least * PAGE_BYTES)}"
            )
        sizes.append(near_bytes)
        near_pages = near_bytes / PAGE_BYTES
        rows.append(
            [_phase_at(*each, near_pages, footprint) for each in zip(shown, costs, strict=True)]
        )
    phases = [_phase(workload, at, footprint, max_objects) for at in rows[0]]
    return DevicePrediction(
        far=device.name,
        title=device.title,
        phases=phases,
        total=total_of(phases, max_objects),
        caveats=_caveats(workload, device, footprint),
        paged=PagedAxis(
            footprint_bytes=round(footprint * PAGE_BYTES),
            fault_ns=float(np.mean([each.mean_fault_ns() for each in costs])),
            cliff_share=_cliff(shown, costs, footprint) if cliff else None,
            budgets=[_budget(row, size, footprint) for row, size in zip(rows, sizes, strict=True)],
        ),
    )


def _slowdown(time: Estimate, near_ns: float) -> Estimate:
    return Estimate(*(slowdown_over(each, near_ns) for each in (time.value, time.low, time.high)))


def _run_slowdown(slowdown: Estimate, row: list[_PhaseAt]) -> Estimate:
    """Return `slowdown` with the interval of the measured near time, in which runs vary too.

    A near time without repetitions is predicted, for another machine: its error is that of both
    times, and leaves their ratio as it is.
    """
    near = sum_estimates([at.phase.phase.near_cpu_time_ns for at in row])
    if near.value <= 0.0 or not all(at.phase.phase.near_repetitions for at in row):
        return slowdown
    low, high = (end / near.value - 1.0 for end in (near.low, near.high))
    return Estimate(slowdown.value, slowdown.low + low, slowdown.high + high)


def _budget(row: list[_PhaseAt], near_bytes: int, footprint: float) -> PagedBudget:
    near_ns = sum(at.phase.phase.near_cpu_time_ns.value for at in row)
    time = sum_estimates([at.time_ns for at in row])
    slowdown = _slowdown(time, near_ns)
    models: dict[str, float] = {}
    for at in row:
        for model in _models(at, footprint):
            models[model.model] = models.get(model.model, 0.0) + model.time_ns
    return PagedBudget(
        near_bytes=near_bytes,
        near_share=near_bytes / (footprint * PAGE_BYTES),
        faults=sum_estimates([at.faults for at in row]),
        evicted=sum(at.pages.evicted for at in row),
        written=sum(at.pages.written for at in row),
        time_ns=time,
        slowdown=slowdown,
        run_slowdown=_run_slowdown(slowdown, row),
        bound=max(row, key=lambda at: at.time_ns.value).bound,
        models=[
            ModelTime(model=name, time_ns=each, slowdown=slowdown_over(each, near_ns))
            for name, each in models.items()
        ],
        phases=[
            PagedPhaseTime(
                phase=at.phase.phase.name,
                faults=at.faults,
                time_ns=at.time_ns,
                slowdown=_slowdown(at.time_ns, at.phase.phase.near_cpu_time_ns.value),
            )
            for at in row
        ],
    )


def _models(at: _PhaseAt, footprint: float) -> list[ModelTime]:
    near_ns = at.phase.phase.near_cpu_time_ns.value
    touches = float(at.phase.touches.sum())
    far_share = max(0.0, 1.0 - at.near_pages / footprint)
    faults = {
        "null": 0.0,
        "proportional": touches * far_share,
        "touches": touches if far_share > 0 else 0.0,
    }
    fault_ns = at.costs.mean_fault_ns() if touches else 0.0
    times = {name: near_ns + count * fault_ns for name, count in faults.items()}
    return [
        ModelTime(model=name, time_ns=time, slowdown=slowdown_over(time, near_ns))
        for name, time in times.items()
    ]


def _phase(
    workload: WorkloadProfile, at: _PhaseAt, footprint: float, max_objects: int
) -> PhasePrediction:
    phase = at.phase.phase
    near, operations = phase.near_cpu_time_ns, phase.operations or None
    back = float(at.pages.faults.sum())
    low, high = (
        (end - near.value) / max(at.time_ns.value - near.value, 1e-9)
        for end in (at.time_ns.low, at.time_ns.high)
    )
    order = np.argsort(-at.by_object_ns)[:max_objects]
    return PhasePrediction(
        phase=phase.name,
        near_time_ns=near,
        far_time_ns=at.time_ns,
        slowdown=_slowdown(at.time_ns, near.value),
        operations=operations,
        near_ns_per_operation=near.value / operations if operations else None,
        bound=at.bound,
        models=_models(at, footprint),
        objects=[
            ObjectEffect(
                object=at.phase.objects[place],
                name=workload.objects[at.phase.objects[place]].name,
                size_bytes=workload.objects[at.phase.objects[place]].size_bytes,
                added_ns=_ordered([added, added * low, added * high]),
                misses=float(at.pages.faults[place]),
                write_backs=at.pages.written * float(at.pages.faults[place]) / back,
            )
            for place in order.tolist()
            if (added := float(at.by_object_ns[place])) > 0 and back > 0
        ],
    )


def _cliff(
    phases: Sequence[PagedPhase], costs: Sequence[PageCosts], footprint: float
) -> Estimate | None:
    """Return the largest near share at which time doubles."""
    near_ns = sum(phase.phase.near_cpu_time_ns.value for phase in phases)
    doubles = [0.0, 0.0, 0.0]
    least = phases[0].sizes_pages[0] / footprint
    for share in np.linspace(1.0, least, CLIFF_STEPS):
        rows = [
            _phase_at(*each, float(share) * footprint, footprint)
            for each in zip(phases, costs, strict=True)
        ]
        time = sum_estimates([at.time_ns for at in rows])
        for end, value in enumerate((time.value, time.low, time.high)):
            if not doubles[end] and value >= CLIFF * near_ns:
                doubles[end] = float(share)
        if all(doubles):
            break
    return _ordered(doubles) if doubles[0] else None


def _caveats(workload: WorkloadProfile, device: DeviceProfile, footprint: float) -> list[str]:
    sentences = [
        "the most recently used pages are assumed to stay near (LRU), and the interval reaches "
        "to random eviction; Linux' active and inactive lists lie between the two; "
        "multi-generation LRU was not checked",
    ]
    sampled = footprint / workload.sampling.page_rate
    if sampled < MIN_SAMPLED:
        sentences.append(
            f"only {sampled:.0f} pages were sampled: a larger input has a more certain curve"
        )
    if device.paged is not None and device.paged.in_dram:
        sentences.append("compressed data stay in DRAM and are not part of the near budget")
    if not any(row.event in ("evict", "exchange") for row in device.faults):
        sentences.append(
            f"the device {device.name} has no time for sending a page away: that time counts as 0"
        )
    if any(
        row.page_curve is not None and workload.objects[row.object].kind == "file"
        for phase in workload.phases
        for row in phase.objects
    ):
        sentences.append("pages of mapped files are left out: they are read from their file again")
    return sentences

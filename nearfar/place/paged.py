"""Plans for a paged far memory: which data to lock near; the kernel moves all other data.

When a phase begins, objects that it does not use and whose pages would take space from it are
evicted early. No time is predicted for these evictions: a plan's time is that of its locks.

Locked data never fault, but leave less space for all other data. The faults of unlocked data follow
from footprints (Xiang et al., HOTL, ASPLOS 2013). The pages that a program touches within a time
are the sum of its objects' pages. Without the locked objects, the others take longer to fill their
space, so their distances shrink. The objects touched most often per page are locked first, the last
of them in part. Of a loop that does not fit, a locked part saves its share of the faults, whereas
the kernel alone keeps nothing of the loop.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate, sum_estimates
from nearfar.base.units import PAGE_BYTES, parse_budget_bytes
from nearfar.documents import DeviceProfile, Plan, WorkloadProfile, loaded, origin, producer
from nearfar.documents.plan import (
    NEAR,
    Alternative,
    BarName,
    Move,
    Part,
    PhasePlacements,
    Placement,
    PlanMemory,
    Prices,
)
from nearfar.documents.prediction import PhasePrediction
from nearfar.options.place import PlaceOptions
from nearfar.place.machine_file import FarMemory
from nearfar.predict.paged import (
    MOVED,
    PageCosts,
    PagedPhase,
    PageMoves,
    active_pages,
    budget_error,
    faults_at,
    footprint_pages,
    moved,
    paged_phases,
    random_faults,
)
from nearfar.predict.paged_device import paged_device
from nearfar.predict.total import TOTAL, slowdown_over
from nearfar.predict.traffic import Array

FREE_SHARE = 0.1
"""Share of the budget that is never locked, for stacks, libraries and pages in transit."""

STEPS = 40
"""Numbers of locked pages that are tried."""

LOCKABLE = ("heap", "mmap")
"""Kinds of objects that `run` can lock and evict: its library serves blocks and mappings."""

MIN_OFFERED_BYTES = 2 << 20
"""Least size of an object that is evicted when a phase that does not use it begins."""

MIN_GAIN = 1.1
"""Least low end of a gain's interval at which data are locked. Before gains had intervals, plans
with a predicted gain of 4 to 11 % ran down to 0.5 times as fast as the kernel alone
(docs/paged.md)."""


@dataclass(frozen=True)
class _Choice:
    """Locked share of each object."""

    locked: Array
    by_object: Array
    """Pages of each object."""

    @property
    def pages(self) -> float:
        """Return the locked pages."""
        return float(self.locked @ self.by_object)

    def without(self) -> _Choice:
        """Return the choice to lock nothing."""
        return replace(self, locked=np.zeros(len(self.locked)))


def paged_plan(
    options: PlaceOptions,
    budget: str | None,
    fars: Sequence[FarMemory],
    near_name: str,
    prices: Prices,
) -> Plan:
    """Return the plan of data to lock in the near memory `near_name`, within the budget.

    Raises NearfarError for options that plans of paged memory do not have.
    """
    if len(fars) != 1 or len(options.profile) != 1 or budget is None or options.allow:
        raise NearfarError(
            "with a paged far memory a plan has one profile, one far memory and a budget, such as "
            "--far zram.json --budget 50%; parts of objects are always allowed"
        )
    workload, device = loaded(options.profile[0], WorkloadProfile), fars[0].device
    names = [] if options.phase == TOTAL else [options.phase]
    every = paged_phases(workload)
    footprint = footprint_pages(every)
    budget_bytes = parse_budget_bytes(budget, round(footprint * PAGE_BYTES))
    alone = paged_device(workload, device, [f"{budget_bytes}B"], names, 1)
    shown = [phase for phase in every if not names or phase.phase.name in names]
    near_ns = alone.total.near_time_ns.value
    near_pages = budget_bytes / PAGE_BYTES
    choice = _best_choice(workload, shown, every, device, near_pages)
    gain = _gain(shown, device, choice, near_pages)
    if gain.low < MIN_GAIN:
        choice = choice.without()
        gain = Estimate(1.0, 1.0, 1.0)
    plan_ns = max(near_ns, alone.total.far_time_ns.value / gain.value)
    return Plan(
        producer=producer(),
        profile=origin(options.profile[0]),
        near=near_name,
        far=device.name,
        phase=options.phase,
        budget_bytes=budget_bytes,
        footprint_bytes=round(footprint * PAGE_BYTES),
        placements=_placements(workload, shown, device, choice),
        alternatives=_alternatives(
            footprint * PAGE_BYTES,
            budget_bytes,
            prices,
            {
                "all-near": alone.total.near_time_ns,
                "kernel": alone.total.far_time_ns,
                "plan": _plan_time(plan_ns, alone.total),
            },
        ),
        frontier=[],
        prices=prices,
        proven_gap=None,
        memories=_memories(near_name, device, budget_bytes, choice.pages * PAGE_BYTES, prices),
        phases=_evictions(workload, every, choice, near_pages),
        caveats=[*_caveats(choice, gain), *alone.caveats],
    )


def _evictions(
    workload: WorkloadProfile, every: Sequence[PagedPhase], choice: _Choice, near_pages: float
) -> list[PhasePlacements]:
    """Return, for each phase, the objects to evict: unused, with pages that take space from it."""
    pages, offers = np.zeros(len(workload.objects)), []
    for phase in every:
        touched = np.zeros(len(pages))
        np.add.at(touched, phase.objects, phase.faults[:, 0] + phase.first_by_object)
        before = pages.copy()
        np.add.at(pages, phase.objects, phase.first_by_object)
        idle = np.flatnonzero(
            (touched == 0.0) & (before * PAGE_BYTES >= MIN_OFFERED_BYTES) & (choice.locked < 1.0)
        )
        moves = [
            Move(
                object=number,
                source=NEAR,
                memory="far",
                bytes=round(before[number] * (1.0 - choice.locked[number])) * PAGE_BYTES,
                cost_ns=0.0,
            )
            for number in idle.tolist()
            if workload.objects[number].kind in LOCKABLE
        ]
        if moves and pages.sum() > near_pages:
            offers.append(PhasePlacements(phase=phase.phase.name, moves=moves))
    return offers


def _plan_time(plan_ns: float, kernel: PhasePrediction) -> Estimate:
    """Return a plan's time; its added time has the relative interval of the kernel's alone."""
    near_ns = kernel.near_time_ns.value
    relative = (plan_ns - near_ns) / max(kernel.far_time_ns.value - near_ns, 1e-9)
    low, high = (
        near_ns + relative * (end - near_ns)
        for end in (kernel.far_time_ns.low, kernel.far_time_ns.high)
    )
    return Estimate(plan_ns, min(low, plan_ns), max(high, plan_ns))


def _caveats(choice: _Choice, gain: Estimate) -> list[str]:
    if choice.pages == 0.0:
        return [
            "locking saves less than the model's error here: the kernel's own choice may be as good"
        ]
    return [
        f"the plan is predicted to be {gain.value:.2f} ({gain.low:.2f}-{gain.high:.2f}) times as "
        "fast as the kernel alone",
        "near: locked (mlock); far: the kernel moves its pages in and out of the rest of the "
        "budget; `nearfar run PLAN --map far=zram` does both",
    ]


def _alternatives(
    footprint_bytes: float, budget_bytes: int, prices: Prices, times: Mapping[BarName, Estimate]
) -> list[Alternative]:
    near_ns = times["all-near"].value
    near_price = footprint_bytes * prices.near_per_byte
    bars = []
    for name, time_ns in times.items():
        held = footprint_bytes if name == "all-near" else min(budget_bytes, footprint_bytes)
        price = held * prices.near_per_byte + (footprint_bytes - held) * prices.far_per_byte
        ends = (slowdown_over(end, near_ns) for end in (time_ns.value, time_ns.low, time_ns.high))
        bars.append(
            Alternative(
                name=name,
                near_bytes=round(held),
                time_ns=time_ns,
                slowdown=Estimate(*ends),
                cost_relative=price / near_price,
            )
        )
    return bars


def _memories(
    near_name: str, device: DeviceProfile, budget_bytes: int, used: float, prices: Prices
) -> list[PlanMemory]:
    return [
        PlanMemory(
            name=NEAR,
            device=near_name,
            capacity_bytes=budget_bytes,
            used_bytes=round(used),
            price_per_byte=prices.near_per_byte,
        ),
        PlanMemory(name="far", device=device.name, price_per_byte=prices.far_per_byte),
    ]


def _best_choice(
    workload: WorkloadProfile,
    shown: Sequence[PagedPhase],
    every: Sequence[PagedPhase],
    device: DeviceProfile,
    near_pages: float,
) -> _Choice:
    """Return the locked shares with the least added time."""
    pages, touches = np.zeros(len(workload.objects)), np.zeros(len(workload.objects))
    for phase in every:
        np.add.at(pages, phase.objects, phase.first_by_object)
    for phase in shown:
        np.add.at(touches, phase.objects, phase.faults[:, 0])
    lockable = np.array([item.kind in LOCKABLE for item in workload.objects])
    touches *= lockable
    order = np.argsort(-touches / np.maximum(pages, 1.0), kind="stable")
    costs = [PageCosts(device, phase) for phase in shown]

    def added_ns(choice: _Choice) -> float:
        rows = zip(shown, costs, strict=True)
        return sum(_added_ns(*row, choice, near_pages) for row in rows)

    choices = []
    for room in np.linspace(0.0, near_pages * (1.0 - FREE_SHARE), STEPS + 1):
        before = np.cumsum(pages[order]) - pages[order]
        locked = np.zeros(len(pages))
        locked[order] = np.clip((room - before) / np.maximum(pages[order], 1.0), 0.0, 1.0)
        locked[touches == 0.0] = 0.0
        choices.append(_Choice(locked, pages))
    return min(choices, key=added_ns)


def _added_ns(
    phase: PagedPhase, costs: PageCosts, choice: _Choice, near_pages: float, *, end: int = 0
) -> float:
    """Return the time that faults of unlocked data add to a phase, ns.

    `end` has the same meaning as in `PageCosts.added_ns`.
    """
    moving = 1.0 - choice.locked[phase.objects]
    room = max(near_pages - choice.pages, 1.0)
    rest = moved(phase, _equivalent_pages(phase, moving, room), keeps_copies=costs.keeps_copies)
    faults = rest.faults * moving
    back, kept = float(rest.faults.sum()), float(faults.sum())
    share = kept / back if back > 0 else 0.0
    first = rest.evicted - back
    recent = faults_at(phase, _equivalent_pages(phase, moving, active_pages(room))) @ moving
    retouches = max(0.0, float(recent) - kept) / max(kept + first, 1.0)
    written = (rest.written - first) * share + first
    moves = PageMoves(faults, kept + first, written, retouches, rest.stored)
    return float(costs.added_ns(moves, end).sum())


def _gain(
    shown: Sequence[PagedPhase], device: DeviceProfile, choice: _Choice, near_pages: float
) -> Estimate:
    """Return the gain: the time of the kernel alone over the time of the plan.

    The interval covers these cases, each the same for both runs: near memory's size and faults'
    times at their ends, random replacement, and migration between CPUs. It also covers the
    sampling error of the saved time, by the number of sampled pages. A migration of only one run is
    chance, not an effect of the plan, and is left out.
    """
    footprint = float(choice.by_object.sum())
    costs = [PageCosts(device, phase) for phase in shown]
    near_ns = sum(phase.phase.near_cpu_time_ns.value for phase in shown)
    sampled = footprint / shown[0].page_rate
    none, error = choice.without(), budget_error(sampled)

    def time_ns(locks: _Choice, size: float, end: int) -> float:
        rows = zip(shown, costs, strict=True)
        return near_ns + sum(_added_ns(*row, locks, size, end=end) for row in rows)

    def by_chance_ns(locks: _Choice) -> float:
        time_ns = near_ns
        for phase, cost in zip(shown, costs, strict=True):
            moving = 1.0 - locks.locked[phase.objects]
            time_ns += cost.mean_fault_ns() * random_faults(phase, near_pages, moving, locks.pages)
        return time_ns

    kernel, plan = (time_ns(locks, near_pages, 0) for locks in (none, choice))
    noise = 1.645 / math.sqrt(max(sampled, 1.0))
    moved_runs = [time_ns(locks, near_pages, MOVED) for locks in (none, choice)]
    ratios = [by_chance_ns(none) / by_chance_ns(choice), moved_runs[0] / moved_runs[1]]
    for sign in (-1, 1):
        size = near_pages * (1.0 + sign * error)
        ratios += [time_ns(none, size, end) / time_ns(choice, size, end) for end in (1, 2)]
        ratios.append(kernel / max(plan - sign * noise * (kernel - plan), near_ns))
    return Estimate(kernel / plan, min(kernel / plan, *ratios), max(kernel / plan, *ratios))


def _equivalent_pages(phase: PagedPhase, moving: Array, room_pages: float) -> float:
    """Return the near memory, pages, in which all data fault like unlocked data in `room_pages`.

    When near memory grows from size c to c + dc, each object gets a part of dc: its part of the
    faults at size c.
    """
    by_object = phase.faults + phase.first_by_object[:, np.newaxis]
    every = by_object.sum(axis=0)
    part: Array = np.ones_like(every)
    np.divide(moving @ by_object, every, out=part, where=every > 0)
    sizes = np.concatenate([[0.0], phase.sizes_pages])
    filled = np.concatenate([[0.0], np.cumsum(part * np.diff(sizes))])
    beyond = max(0.0, room_pages - float(filled[-1]))
    return float(np.interp(room_pages, filled, sizes)) + beyond


def _placements(
    workload: WorkloadProfile, phases: Sequence[PagedPhase], device: DeviceProfile, choice: _Choice
) -> list[Placement]:
    added: dict[int, list[Estimate]] = {}
    for phase in phases:
        value, low, high = PageCosts(device, phase).fault()[:3] * phase.faults[:, 0]
        for place, number in enumerate(phase.objects):
            each = Estimate(float(value[place]), float(low[place]), float(high[place]))
            added.setdefault(number, []).append(each)
    rows = []
    for number, item in enumerate(workload.objects):
        if number not in added:
            continue
        share = float(choice.locked[number])
        parts = [Part(memory=NEAR, share=share), Part(memory="far", share=1.0 - share)]
        rows.append(
            Placement(
                object=number,
                name=item.name,
                size_bytes=item.size_bytes,
                memory=NEAR if share >= 0.5 else "far",
                added_ns_if_far=sum_estimates(added[number]),
                kind=item.kind,
                frames=item.frames,
                told_by=item.told_by,
                via=item.via,
                split=item.split,
                parts=parts if 0.0 < share < 1.0 else [],
            )
        )
    return rows

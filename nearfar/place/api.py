"""Placing from Python: documents in, a `Plan` out."""

from __future__ import annotations

import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.base.statistics import Estimate
from nearfar.documents import DeviceProfile, Plan, WorkloadProfile, producer
from nearfar.documents.plan import NEAR, Alternative, Placement, PlanMemory, Prices
from nearfar.documents.prediction import HostRule
from nearfar.place.budget import budget_remark, parse_budget_bytes
from nearfar.place.frontier import frontier, frontier_points
from nearfar.place.optimiser import OPTIMISERS, BarName, Choice
from nearfar.place.order import fill, greedy_order
from nearfar.place.problem import Problem, make_problem, slowdown_estimates, time_estimates
from nearfar.predict.api import added_bounds
from nearfar.predict.caveats import caveats, common_caveats
from nearfar.predict.host import DEFAULT_HOST
from nearfar.predict.model import DEFAULT_MODEL
from nearfar.predict.total import TOTAL, summed

BARS = ("all-near", "all-far", "page-interleaved", "hot-first", "greedy", "exact")
"""The optimisers whose times every plan shows."""

DEFAULT_OPTIMISER = "exact"

LITTLE = 0.002
"""Share of the added time below which where an object goes does not matter."""

MOST_NAMED = 5
"""Objects named in a caveat; more are counted."""


def place(
    workload: WorkloadProfile,
    near: DeviceProfile,
    far: DeviceProfile,
    budget: int | str,
    phase: str = TOTAL,
    *,
    prices: Prices | None = None,
    optimiser: str = DEFAULT_OPTIMISER,
    model: str = DEFAULT_MODEL,
    page_bytes: int | None = None,
    host: HostRule = DEFAULT_HOST,
    profile_path: str = "",
) -> Plan:
    """Choose which objects stay near so that `phase` takes least time within the budget.

    `budget` is bytes, or text such as ``2GiB`` or ``25%`` (of the program's memory).
    `host` says how a latency published on another machine is taken to this one, as in `predict`.
    Raises NearfarError for a budget that is negative or has no unit, an unknown phase, model or
    optimiser, and a device without the figures that the model needs.
    """
    chosen_by = OPTIMISERS.get(optimiser)()
    if chosen_by.only_bar:
        raise NearfarError(
            f"{optimiser} is only a bar to compare with, no plan of whole objects: "
            "choose exact, greedy or hot-first"
        )
    problem = make_problem(
        workload,
        near,
        far,
        phase=phase,
        model=model,
        prices=prices,
        page_bytes=page_bytes,
        host=host,
    )
    footprint = problem.footprint_bytes
    text = budget if isinstance(budget, str) else f"{budget}B"
    budget_bytes = parse_budget_bytes(text, footprint)
    choices = {name: OPTIMISERS.get(name)().choose(problem, budget_bytes) for name in BARS}
    choice = choices.get(optimiser) or chosen_by.choose(problem, budget_bytes)
    remark = budget_remark(budget_bytes, footprint)
    return Plan(
        producer=producer(),
        profile=profile_path,
        near=near.name,
        far=far.name,
        phase=phase,
        budget_bytes=budget_bytes,
        footprint_bytes=footprint,
        placements=_placements(workload, problem, choice),
        memories=_memories(problem, choice, budget_bytes),
        alternatives=_alternatives(problem, choices),
        frontier=frontier_points(problem, frontier(problem)),
        prices=problem.prices,
        proven_gap=choices["exact"].proven_gap,
        caveats=[
            *([remark] if remark and problem.names else []),
            *([] if problem.names else ["the profile has no objects: there is nothing to place"]),
            *_undecided(problem, budget_bytes),
            *_of_plan(problem, choice, choices["page-interleaved"]),
            *caveats(
                problem.near,
                problem.far,
                common_caveats(workload, problem.phases, problem.near),
            ),
        ],
    )


def _placements(workload: WorkloadProfile, problem: Problem, choice: Choice) -> list[Placement]:
    far = summed([found.far_time_ns for found in problem.far_outcome])
    added = problem.added_ns
    low, high = added_bounds(added, problem.near_time_ns.value, far)
    effects = zip(added.tolist(), low.tolist(), high.tolist(), strict=True)
    return [
        Placement(
            object=number,
            name=problem.names[number],
            size_bytes=int(problem.sizes_bytes[number]),
            memory="near" if choice.near_shares[number] == 1.0 else "far",
            added_ns_if_far=Estimate(*effect),
            kind=thing.kind,
            frames=thing.frames,
            told_by=thing.told_by,
            via=thing.via,
            split=thing.split,
        )
        for number, (thing, effect) in enumerate(zip(workload.objects, effects, strict=True))
    ]


def _memories(problem: Problem, choice: Choice, budget_bytes: int) -> list[PlanMemory]:
    taken = problem.near_bytes(choice.near_shares)
    prices = problem.prices
    return [
        PlanMemory(
            name=name,
            device=memory.device.name,
            capacity_bytes=capacity,
            used_bytes=used,
            price_per_byte=price,
            write_over_read=memory.write_ns[0] / memory.read_ns[0],
        )
        for name, memory, capacity, used, price in (
            (NEAR, problem.near, budget_bytes, taken, prices.near_per_byte),
            ("far", problem.far, None, problem.footprint_bytes - taken, prices.far_per_byte),
        )
    ]


def _alternatives(problem: Problem, choices: dict[str, Choice]) -> list[Alternative]:
    names: list[BarName] = [OPTIMISERS.get(name).bar for name in choices]
    shares = np.stack([choice.near_shares for choice in choices.values()])
    near_bytes = [problem.near_bytes(row) for row in shares]
    times = problem.times_ns(shares)
    rows = zip(
        names,
        near_bytes,
        time_estimates(problem, times),
        slowdown_estimates(problem, times),
        problem.cost_relative(np.array(near_bytes, dtype=float)).tolist(),
        strict=True,
    )
    return [
        Alternative(
            name=name, near_bytes=taken, time_ns=time, slowdown=slowdown, cost_relative=cost
        )
        for name, taken, time, slowdown, cost in rows
    ]


def _undecided(problem: Problem, budget_bytes: int) -> list[str]:
    """Say which choices hang on where parallelism comes from, the widest part of the interval.

    Both sides are filled greedily: two quick fillings differ only by what is asked here.
    """
    sides = [
        fill(greedy_order(side), problem.sizes_bytes, budget_bytes)
        for side in (problem, problem.by_classes())
    ]
    matters = np.abs(problem.added_ns) > LITTLE * np.abs(problem.added_ns).sum()
    differ = np.flatnonzero((sides[0] != sides[1]) & matters)
    if differ.size == 0:
        return []
    named = [problem.names[i] for i in differ[np.argsort(-problem.added_ns[differ])][:MOST_NAMED]]
    more = f" and {differ.size - len(named)} more" if differ.size > len(named) else ""
    return [
        f"{differ.size} of {len(problem.names)} choices hang on how far misses overlap (near time "
        f"and access classes say differently): {', '.join(named)}{more}"
    ]


def _of_plan(problem: Problem, choice: Choice, interleaved: Choice) -> list[str]:
    said = [
        "objects are placed whole, each with room for its own peak; peaks at different times "
        "would share room",
        "the two memories are taken as independent: on shared channels their bandwidths do not add",
    ]
    near = float(problem.times_ns(np.ones(len(problem.names))))
    chosen = float(problem.times_ns(choice.near_shares))
    if chosen > 1.001 * float(problem.times_ns(interleaved.near_shares)):
        said.append(
            "interleaving pages is predicted faster than any plan of whole objects: an object "
            "larger than the budget matters most, and part of it could stay near"
        )
    if chosen < 0.999 * near:
        said.append(
            "part far is predicted faster than all near, because it adds the far memory's bandwidth"
        )
    return said

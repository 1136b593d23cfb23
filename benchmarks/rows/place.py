"""Time of the exact plan for a budget, and for several memories with capacities."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import Row, alternate, make_row, wall_seconds
from nearfar.api import PlaceOptions, place
from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile, Plan, WorkloadProfile
from nearfar.place.assignment import assign, saved_ns, solve
from nearfar.place.budget import with_limits
from nearfar.place.capacity import capacity_limits
from nearfar.place.machine_file import FarMemory
from nearfar.place.problem import problem_of
from nearfar.predict.derive import near_memory
from nearfar.predict.phases import phases_of

SECONDS = 45

OBJECTS = 10_000
BUDGETS = ("1%", "10%", "25%", "50%", "90%")
"""Small budgets are the hard ones: few objects fit, and many are similar."""

SEVERAL_OBJECTS = 100_000
FARS = ("cxl-micron-cz120", "cxl-e3s-x8", "optane-100-6dimm")
SHARE = 0.25
"""Share of the program's memory that each far memory but the last holds; that has no limit."""

PROVEN_GAP = 1e-6
"""A millionth of the saved time: the tolerance of an exact plan."""


def rows() -> list[Row]:
    """Make a whole plan (bars, frontier, exact choice) at each budget; the slowest counts."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests/python"))
    import samples

    workload, near = samples.workload(objects=OBJECTS), samples.device()
    far = load_device("optane-100-6dimm")
    plans: list[Plan] = []
    seconds = [
        wall_seconds(
            lambda budget=budget: plans.append(
                place(profile=workload, near=near, far=far, budget=budget)
            )
        )
        for budget in BUDGETS
    ]
    greedy_s = [
        wall_seconds(
            lambda budget=budget: place(
                profile=workload, near=near, far=far, budget=budget, optimiser="greedy"
            )
        )
        for budget in BUDGETS
    ]
    gap = max(1.0 if plan.proven_gap is None else plan.proven_gap for plan in plans)
    command = "make benchmarks ONLY=place"
    return [
        *_several(samples.workload(objects=SEVERAL_OBJECTS), near, command),
        *_beside_plain(workload, near, command),
        make_row(
            f"exact plan for one budget, slowest of {', '.join(BUDGETS)}: {OBJECTS} objects",
            max(seconds),
            "s",
            bar=5.0,
            peer="greedy's plan, slowest",
            peer_value=max(greedy_s),
            command=command,
        ),
        make_row(
            "proven gap of those plans",
            gap,
            "of the saved time",
            bar=PROVEN_GAP,
            peer="0: optimal",
            command=command,
        ),
    ]


def _memories(workload: WorkloadProfile, names: Sequence[str]) -> list[FarMemory]:
    """Return far memories, each but the last with a capacity."""
    fars = [load_device(name) for name in names]
    capacity = int(SHARE * sum(each.size_bytes for each in workload.objects))
    return [*(FarMemory(far, capacity) for far in fars[:-1]), FarMemory(fars[-1])]


def _several(workload: WorkloadProfile, near: DeviceProfile, command: str) -> Iterator[Row]:
    """Yield rows of a plan over near memory and three far ones with capacities."""
    specs = [
        name if far.capacity_bytes is None else f"{name}:{far.capacity_bytes}B"
        for name, far in zip(FARS, _memories(workload, FARS), strict=True)
    ]
    options = PlaceOptions(profile=[workload], near=near, far=specs, budget="10%")
    results: list[Plan] = []
    seconds = wall_seconds(lambda: results.append(place(options)))
    gap = results[0].proven_gap
    yield make_row(
        f"plan over 4 memories with capacities: {SEVERAL_OBJECTS} objects",
        seconds,
        "s",
        bar=10.0,
        peer="greedy's plan",
        peer_value=wall_seconds(lambda: place(replace(options, optimiser="greedy"))),
        command=command,
    )
    yield make_row(
        "proven gap of that plan",
        100.0 if gap is None else 100.0 * gap,
        "% of the saved time",
        bar=0.1,
        peer="0: optimal",
        command=command,
    )
    times = {bar.name: bar.time_ns.value for bar in results[0].alternatives}
    yield make_row(
        "greedy over 4 memories, time beside the solver's choice",
        times["greedy"],
        "ns",
        bar=1.01,
        judge="ratio",
        peer="the solver's choice",
        peer_value=times["optimal"],
        command=command,
    )


def _beside_plain(workload: WorkloadProfile, near: DeviceProfile, command: str) -> Iterator[Row]:
    """Time the solver's own part over 3 memories next to HiGHS on the complete program.

    That is all objects by all memories at once, with the same stopping gap.
    """
    memories = _memories(workload, (FARS[0], FARS[-1]))
    phases = phases_of(workload)
    problem = problem_of(workload, phases, near_memory(near, None), [m.device for m in memories])
    problem = with_limits(problem, memories, inputs=(), over="mean")
    limits = capacity_limits(problem, 0.1 * problem.footprint_bytes)
    costs, sizes = problem.costs_ns, problem.sizes_bytes
    everything = np.ones_like(costs, dtype=bool)
    saved: dict[str, float] = {}

    def ours() -> None:
        saved["ours"] = saved_ns(costs, assign(costs, sizes, limits).memory)

    def plain() -> None:
        chosen, _ = solve(costs, sizes, everything, limits.weights, limits.limits)
        saved["plain"] = 0.0 if chosen is None else saved_ns(costs, chosen)

    own, peer = alternate([lambda: wall_seconds(ours), lambda: wall_seconds(plain)], 3)
    yield make_row(
        f"solving 3 memories, {OBJECTS} objects: prices of room first, HiGHS for the rest",
        statistics.median(own),
        "s",
        bar=1.0,
        judge="ratio",
        peer="HiGHS alone",
        peer_value=statistics.median(peer),
        command=command,
    )
    yield make_row(
        "time saved by that solution, beside the same peer's",
        saved["ours"] / 1e9,
        "s",
        bar=0.999,
        at_most=False,
        judge="ratio",
        peer="HiGHS alone",
        peer_value=max(saved["plain"], 1.0) / 1e9,
        command=command,
    )

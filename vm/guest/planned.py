"""Plans made by hand for the program `objects`, and running it under them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from guest import SkipCheckError, nearfar

from nearfar.base.estimate import Estimate
from nearfar.documents import Plan, producer, save
from nearfar.documents.plan import Move, PhasePlacements, Placement, PlanMemory, Prices
from nearfar.documents.workload import Frame

PROGRAM = Path("/payload/programs/objects")
OBJECTS = {
    "make_array": "heap",
    "make_list": "heap",
    "make_growing": "heap",
    "make_mapping": "mmap",
    "make_cleared": "heap",
}
"""What the program allocates, each of the size given to it; by function."""
ON_PLAN = 0.99
"""At least so much of an object's bytes where the plan says."""


def by_hand(
    placements: list[Placement], names: list[str], phases: list[PhasePlacements] | None = None
) -> Plan:
    """Return a plan for memories of these names, near first."""
    return Plan(
        producer=producer(["vm"]),
        profile="by hand",
        near="near",
        far=names[-1],
        phase="total",
        budget_bytes=1 << 30,
        footprint_bytes=1 << 26,
        placements=placements,
        alternatives=[],
        frontier=[],
        prices=Prices(),
        proven_gap=None,
        memories=[PlanMemory(name=name, device=name) for name in names],
        phases=phases or [],
    )


def plan(where: dict[str, str], *, moves: dict[str, str] | None = None) -> Path:
    """Save a plan: object to memory, and what moves when the phase `work` begins; its path."""
    names = list(dict.fromkeys(["near", *where.values(), *(moves or {}).values()]))
    functions = list(OBJECTS)
    placements = [
        Placement(
            object=number,
            name=function,
            size_bytes=4 << 20,
            memory=where.get(function, "near"),
            added_ns_if_far=Estimate(0, 0, 0),
            kind="mmap" if kind == "mmap" else "heap",
            frames=[Frame(function=function), Frame(function="main")],
        )
        for number, (function, kind) in enumerate(OBJECTS.items())
    ]
    work = [
        Move(
            object=functions.index(function),
            source=where.get(function, "near"),
            memory=memory,
            bytes=4 << 20,
            cost_ns=1.0,
        )
        for function, memory in (moves or {}).items()
    ]
    path = Path("plan.json")
    phases = [PhasePlacements(phase="work", moves=work)] if work else []
    save(by_hand(placements, names, phases), path)
    return path


def run(path: Path, *words: str, maps: dict[str, str], options: tuple[str, ...] = ()) -> Any:
    """Run the program under the plan and return the record."""
    if not PROGRAM.exists():
        raise SkipCheckError("no C compiler where the guest was made: no program to run")
    record = Path("record.json")
    mapped = [word for name, spec in maps.items() for word in ("--map", f"{name}={spec}")]
    nearfar("run", str(path), *mapped, *options, "-o", str(record), "--", str(PROGRAM), *words)
    found = json.loads(record.read_text())
    assert found["exit_status"].startswith("exited 0"), found["exit_status"]
    return found


def landings(record: Any) -> dict[str, Any]:
    """Return object to where it landed."""
    return {landing["name"]: landing for landing in record["objects"]}


def assert_on_plan(record: Any, names: set[str]) -> None:
    """Hold that these objects were seen and lie where the plan says."""
    for name, landing in landings(record).items():
        if name in names:
            assert landing["recognised_bytes"] > 0, f"{name} was never seen"
            assert landing["on_plan"] >= ON_PLAN, landing

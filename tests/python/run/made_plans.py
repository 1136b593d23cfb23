"""Hand-made plans for programs whose objects are their functions."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from forked import nearfar

from nearfar.base.estimate import Estimate
from nearfar.documents import Plan, producer
from nearfar.documents.plan import Part, PhasePlacements, Placement, PlanMemory, Prices
from nearfar.documents.workload import Frame

PROGRAMS = Path(__file__).parent / "programs"
NOTHING = Estimate(0.0, 0.0, 0.0)


def placement(number: int, name: str, memory: str, size_mib: int = 4, **more: object) -> Placement:
    fields = {"kind": "heap", "frames": [Frame(function=name)], **more}
    return Placement(
        object=number, name=name, size_bytes=size_mib << 20, memory=memory,
        added_ns_if_far=NOTHING, **fields,  # type: ignore[arg-type]
    )  # fmt: skip


def plan(
    placements: Sequence[Placement],
    *,
    far_capacity: int | None = None,
    phases: Sequence[PhasePlacements] = (),
) -> Plan:
    return Plan(
        producer=producer(), profile="", near="dram", far="optane", phase="total",
        budget_bytes=64 << 20, footprint_bytes=64 << 20, placements=list(placements),
        alternatives=[], frontier=[], prices=Prices(), proven_gap=None,
        memories=[
            PlanMemory(name="near", device="dram"),
            PlanMemory(name="far", device="optane", capacity_bytes=far_capacity),
        ],
        phases=list(phases),
    )  # fmt: skip


def objects_plan(
    where: Mapping[str, str],
    *,
    parts: Mapping[str, Sequence[tuple[str, float]]] | None = None,
    interleave: Mapping[str, dict[str, int]] | None = None,
    far_capacity: int | None = None,
    phases: Sequence[PhasePlacements] = (),
) -> Plan:
    """Return a plan of programs/objects.c from functions to memories."""
    made = [
        placement(
            number, name, memory,
            kind="mmap" if name == "make_mapping" else "heap",
            parts=[Part(memory=m, share=s) for m, s in (parts or {}).get(name, ())],
            interleave=(interleave or {}).get(name, {}),
        )
        for number, (name, memory) in enumerate(where.items())
    ]  # fmt: skip
    return plan(made, far_capacity=far_capacity, phases=phases)


def run_verb(
    folder: Path, *words: str, before: Sequence[str] = (), cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `nearfar run` with the folder's plan.json, writing its record.json."""
    words = ("run", str(folder / "plan.json"), "-o", str(folder / "record.json"), *words)
    if not before:
        return nearfar(*words, cwd=cwd)
    return subprocess.run(
        [*before, sys.executable, "-m", "nearfar", *words],
        cwd=cwd, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip

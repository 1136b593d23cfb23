"""`nearfar run --adapt` moves the ranges of an array and a mapped file that become hot and cold."""

from __future__ import annotations

import json
import os
from pathlib import Path

from guest import SkipCheckError, nearfar
from planned import ON_PLAN, by_hand

from nearfar.base.estimate import Estimate
from nearfar.documents import save
from nearfar.documents.plan import Part, Placement
from nearfar.documents.workload import Frame
from nearfar.run import sample_budget
from nearfar.run.process_memory import set_mempolicy

BESIDE = True
PROGRAM = Path("/payload/programs/shifting")
FILE = Path("/dev/shm/shifting.data")
RANGE = 4 << 20
MPOL_PREFERRED = 1


def placements() -> list[Placement]:
    """Return both objects with the first of their three ranges near."""
    parts = [
        Part(
            memory="far" if number else "near", share=1 / 3,
            begin_bytes=number * RANGE, end_bytes=(number + 1) * RANGE,
        )
        for number in range(3)
    ]  # fmt: skip
    return [
        Placement(
            object=number,
            name=name,
            size_bytes=3 * RANGE,
            memory="near",
            added_ns_if_far=Estimate(0, 0, 0),
            kind=kind,
            frames=frames,
            parts=parts,
        )
        for number, (name, kind, frames) in enumerate(
            (
                ("make_array", "heap", [Frame(function="make_array")]),
                (f"file {FILE.name}", "file", []),
            )
        )
    ]


def check() -> None:
    """Hold that at least 99 % of each range's pages are where its use says, also under numactl."""
    if not PROGRAM.exists():
        raise SkipCheckError("no C compiler where the guest was made: no program to run")
    # Clearing bits takes this processor long: within 1 % it would sample once in half a minute.
    sample_budget.MAX_CPU_SHARE = 0.2
    before, after = pages_of_ranges("0 1\n8 120\n")
    assert_near(before, 0)
    assert_near(after, 2)
    # As `numactl --preferred=1` has it: near memory stays near for what moves.
    set_mempolicy(MPOL_PREFERRED, [1])
    (before,) = pages_of_ranges("0 0\n")
    assert_near(before, 0)


def pages_of_ranges(shifts: str) -> list[str]:
    """Run the program with the first MiB of each range in use, and the most seconds for it."""
    FILE.write_bytes(bytes(3 * RANGE))
    plan = by_hand(placements(), ["near", "far"])
    plan.budget_bytes = 2 * RANGE + (1 << 20)
    save(plan, Path("plan.json"))
    Path("shifts").write_text(shifts)
    # What the program reads and prints; nearfar's own output goes elsewhere.
    os.dup2(os.open("shifts", os.O_RDONLY), 0)
    log = os.dup(1)
    os.dup2(os.open("counts", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
    try:
        shown = nearfar(
            "run", "plan.json", "--adapt", "--map", "far=node:1", "-o", "record.json", "--",
            str(PROGRAM), str(FILE),
        )  # fmt: skip
    finally:
        os.dup2(log, 1)
    FILE.unlink()
    record = json.loads(Path("record.json").read_text())
    printed = Path("counts").read_text()
    print(shown, *record["migrations"], record["warnings"], printed, sep="\n")
    assert record["exit_status"].startswith("exited 0"), record["exit_status"]
    # After nearfar's command line and the addresses.
    return printed.splitlines()[2 : 2 + len(shifts.splitlines())]


def assert_near(line: str, hot: int) -> None:
    """Hold that of each object the range of this number is near and the others are far."""
    counts = [int(word) for word in line.split()]
    for number, (near, far) in enumerate(zip(counts[::2], counts[1::2], strict=True)):
        right = near if number % 3 == hot else far
        assert right >= ON_PLAN * (RANGE >> 12), (number, near, far)

"""`nearfar run` puts ranges of blocks, slabs, mappings and a file on near and far nodes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from guest import SkipCheckError, nearfar
from planned import ON_PLAN, by_hand, landings

from nearfar.base.estimate import Estimate
from nearfar.documents import save
from nearfar.documents.plan import Part, Placement
from nearfar.documents.workload import Frame

PROGRAM = Path("/payload/programs/ranges")
FILE = Path("/dev/shm/ranges.data")
FILE_MIB = 4
FAR_MIB = {
    "make_slab": (8, [(2, 5)]),
    "make_array": (8, [(0, 1), (4, 6)]),
    "make_mapping": (4, [(1, 2)]),
    "make_growing": (4, [(2, 4)]),
    f"file {FILE.name}": (FILE_MIB, [(1, 3)]),
}
"""MiB of each object, and its ranges that are far."""


def placements() -> list[Placement]:
    """Return the objects with these ranges."""
    return [
        Placement(
            object=number,
            name=name,
            size_bytes=size << 20,
            memory="near",
            added_ns_if_far=Estimate(0, 0, 0),
            kind=_kind(name),
            frames=[] if name.startswith("file ") else [Frame(function=name)],
            parts=_parts(size, far),
        )
        for number, (name, (size, far)) in enumerate(FAR_MIB.items())
    ]


def _kind(name: str) -> str:
    if name.startswith("file "):
        return "file"
    return "mmap" if name == "make_mapping" else "heap"


def _parts(size: int, far: list[tuple[int, int]]) -> list[Part]:
    parts, at = [], 0
    for begin, end in [*far, (size, size)]:
        for until, memory in ((begin, "near"), (end, "far")):
            if until > at:
                share = (until - at) / size
                row = Part(memory=memory, share=share, begin_bytes=at << 20, end_bytes=until << 20)
                parts.append(row)
                at = until
    return parts


def check() -> None:
    """Hold that the kernel has at least 99 % of the ranges' pages where the plan says."""
    if not PROGRAM.exists():
        raise SkipCheckError("no C compiler where the guest was made: no program to run")
    # Half of the file has pages already: they move.
    FILE.write_bytes(bytes((FILE_MIB // 2) << 20))
    subprocess.run(["truncate", "-s", f"{FILE_MIB}M", str(FILE)], check=True)
    save(by_hand(placements(), ["near", "far"]), Path("plan.json"))
    report = Path("report").resolve()
    os.environ["RANGES_REPORT"] = str(report)
    nearfar(
        "run", "plan.json", "--map", "far=node:1", "-o", "record.json", "--",
        str(PROGRAM), str(FILE),
    )  # fmt: skip
    record = json.loads(Path("record.json").read_text())
    del os.environ["RANGES_REPORT"]
    print(report.read_text(), record["warnings"])
    assert record["exit_status"].startswith("exited 0"), record["exit_status"]
    right = there = 0
    seen = set()
    for line in report.read_text().splitlines():
        start, *counts = line.split()
        name = f"file {FILE.name}" if start == "file" else start
        mib, near, far = (int(count) for count in counts)
        seen.add((name, mib))
        planned_far = any(begin <= mib < end for begin, end in FAR_MIB[name][1])
        right += far if planned_far else near
        there += near + far
    assert seen == {(name, mib) for name, (size, _) in FAR_MIB.items() for mib in range(size)}
    assert there >= ON_PLAN * sum(size for size, _ in FAR_MIB.values()) * 256, there
    assert right >= ON_PLAN * there, (right, there)
    for name, landing in landings(record).items():
        assert landing["on_plan"] >= ON_PLAN, (name, landing)
    FILE.unlink()

"""Calls on one line of source are objects of their own, from the profile to the run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from forked import nearfar

from nearfar.documents import RunRecord, WorkloadProfile, load, save
from nearfar.documents.workload import Frame, MemoryObject
from nearfar.program.symbols import SourceLocation, symbolise
from nearfar.run.matcher import Matcher

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import PROGRAMS, placement, plan, run_verb

SOURCE = PROGRAMS / "one_line.c"


FUNCTIONS = PROGRAMS / "one_line_functions.c"


def objects_of(
    folder: Path, *compiler: str, source: Path = SOURCE
) -> tuple[list[MemoryObject], list[str]]:
    """Return the large objects of a traced build, and the profile's warnings."""
    built, profile = str(folder / "one_line"), folder / "profile.json"
    nearfar("cc", *compiler, source, "-o", built, check=True)
    nearfar("profile", "-q", "--repetitions", 1, "-o", profile, "--", built, check=True)
    made = load(profile, WorkloadProfile)
    return [memory for memory in made.objects if memory.size_bytes > 2 << 20], made.warnings


def check_run(folder: Path, objects: list[MemoryObject], far: set[int], *compiler: str) -> None:
    """Run a plan with the objects of so many MiB far: all of them are where the plan says."""
    placements = [
        placement(
            memory.id, memory.name, "far" if memory.size_bytes >> 20 in far else "near",
            size_mib=memory.size_bytes >> 20, frames=memory.frames, told_by=memory.told_by,
            via=memory.via,
        )
        for memory in objects
    ]  # fmt: skip
    save(plan(placements), folder / "plan.json")
    subprocess.run(["cc", *compiler, "-o", str(folder / "plain")], check=True)
    done = run_verb(folder, "--map", "far=file:/dev/shm", "--", str(folder / "plain"))
    assert done.returncode == 0, done.stderr
    for landing in load(folder / "record.json", RunRecord).objects:
        assert landing.recognised_bytes == pytest.approx(landing.planned_bytes, rel=0.15), landing
        assert landing.on_plan is not None
        assert landing.on_plan >= 0.99, landing


def test_columns_tell_calls_on_one_line_apart_in_a_profile_and_a_run(tmp_path: Path) -> None:
    objects, warnings = objects_of(tmp_path, "-O1", "-g")
    lines = SOURCE.read_text().splitlines()
    made = next(n for n, line in enumerate(lines, 1) if "a = make" in line)
    first, second = (lines[made - 1].index(name) + 1 for name in ("make(8", "make(4"))
    sizes = {memory.name: memory.size_bytes >> 20 for memory in objects}
    assert sizes.pop(f"make one_line.c:7 < main one_line.c:{made}:{first}") == 8
    assert sizes.pop(f"make one_line.c:7 < main one_line.c:{made}:{second}") == 4
    assert sizes.pop("other one_line.c:14") == 7
    assert sorted(sizes.values()) == [3, 5]
    assert all(f"main one_line.c:{made + 1}:" in name for name in sizes)
    assert not any("on one line" in warning for warning in warnings)

    check_run(tmp_path, objects, {8, 5}, "-O1", "-g", str(SOURCE))


@pytest.mark.parametrize("calls", ["-fplt", "-fno-plt"])
def test_functions_called_on_one_line_without_columns_are_objects(
    tmp_path: Path, calls: str
) -> None:
    objects, warnings = objects_of(tmp_path, "-O1", "-g", "-gno-column-info", source=FUNCTIONS)
    sizes = {memory.via: memory.size_bytes >> 20 for memory in objects}
    assert sizes == {"malloc": 8, "calloc": 5, "aligned_alloc": 3}
    assert all(memory.name.endswith(f" ({memory.via})") for memory in objects)
    assert not any("on one line" in warning for warning in warnings)
    options = ["-O1", "-g", "-gno-column-info", calls, str(FUNCTIONS)]
    check_run(tmp_path, objects, {5}, *options)


def test_without_columns_a_warning_names_the_objects_that_join_calls(tmp_path: Path) -> None:
    objects, warnings = objects_of(tmp_path, "-O1", "-g", "-gno-column-info")
    # The function that is called still tells objects apart.
    joined = {memory.size_bytes >> 20: memory.joined_calls for memory in objects}
    assert joined == {7: 0, 8: 2, 12: 2}
    assert any("on one line" in warning and "make" in warning for warning in warnings)


def test_a_plan_without_columns_still_matches() -> None:
    def frames(column: int) -> list[Frame]:
        return [
            Frame(function="make", file="x.c", line=6),
            Frame(function="main", file="x.c", line=14, column=column),
        ]

    stack = list(enumerate(frames(22)))
    old = placement(0, "make", "far", frames=frames(0), told_by=2)
    assert Matcher([old]).match(stack).placement is old
    left, right = (
        placement(number, "make", "far", frames=frames(column), told_by=2)
        for number, column in enumerate((7, 22))
    )
    assert Matcher([left, right]).match(stack).placement is right
    # Another compiler counts columns from the parenthesis.
    assert Matcher([left, right]).match(list(enumerate(frames(11)))).placement is left


def test_columns_are_read_from_debug_information(tmp_path: Path) -> None:
    built = tmp_path / "one_line"
    subprocess.run(["cc", "-O1", "-g", str(SOURCE), "-o", str(built)], check=True)
    symbols = subprocess.check_output(["nm", str(built)], text=True).splitlines()
    main = next(int(line.split()[0], 16) for line in symbols if line.endswith(" T main"))
    (frames,) = symbolise([SourceLocation(str(built), main + 8)]).values()
    assert frames[-1].function == "main"
    assert frames[-1].column > 0

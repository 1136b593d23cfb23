"""Ranges of objects under `nearfar run`; far memory is files in the page cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from nearfar.documents import Plan, RunRecord, load, save
from nearfar.documents.plan import Part
from nearfar.run import layout
from nearfar.run.local_memories import resolve_memories
from nearfar.run.targets import make_targets

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import PROGRAMS, placement, plan, run_verb

SIZES = {"make_slab": 8, "make_array": 8, "make_mapping": 4, "make_growing": 4}
"""Size of each object, MiB."""
FAR_MIB = {
    "make_slab": (2, 5),
    "make_array": (0, 3),
    "make_mapping": (1, 2),
    "make_growing": (2, 4),
}
"""Range of each object that is far, MiB."""


def ranges(far: tuple[int, int], size: int) -> list[Part]:
    ends = [(far[0], "near"), (far[1], "far"), (size, "near")]
    parts, begin = [], 0
    for end, memory in ends:
        if end > begin:
            parts.append(
                Part(
                    memory=memory, share=(end - begin) / size,
                    begin_bytes=begin << 20, end_bytes=end << 20,
                )
            )  # fmt: skip
        begin = end
    return parts


def ranged_plan(sizes: dict[str, int] = SIZES, kinds: Sequence[str] = ()) -> Plan:
    return plan(
        [
            placement(
                number, name, "near", size,
                kind="mmap" if name == "make_mapping" else "heap",
                parts=ranges(FAR_MIB[name], size),
            )
            for number, (name, size) in enumerate(sizes.items())
        ]
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranges")
    command = ["cc", "-O1", "-g", str(PROGRAMS / "ranges.c")]
    subprocess.run([*command, "-o", str(folder / "ranges")], check=True)
    return folder


def run(folder: Path, made: Plan, *words: str) -> tuple[RunRecord, str]:
    """Run the program, which checks its own data; return the record and its output."""
    save(made, folder / "plan.json")
    done = run_verb(folder, "--map", "far=file:/dev/shm", "--", str(folder / "ranges"), *words)
    assert done.returncode == 0, done.stderr
    return load(folder / "record.json", RunRecord), done.stderr


def test_ranges_of_blocks_slabs_and_mappings_are_in_their_memories(folder: Path) -> None:
    record, _ = run(folder, ranged_plan())
    for landing in record.objects:
        size, (begin, end) = SIZES[landing.name], FAR_MIB[landing.name]
        assert landing.recognised_bytes > 0.7 * (size << 20), landing
        assert landing.on_plan is not None
        assert landing.on_plan >= 0.99, landing
        far = landing.bytes_by_memory.get("far", 0) / sum(landing.bytes_by_memory.values())
        # One page in eight is sampled.
        assert far == pytest.approx((end - begin) / size, abs=0.08), landing
    assert not [warning for warning in record.warnings if "ranges" in warning]


def test_a_smaller_object_than_the_plans_is_reported(folder: Path) -> None:
    record, _ = run(folder, ranged_plan({**SIZES, "make_array": 40}))
    (warning,) = (
        warning for warning in record.warnings if "so its ranges hold other data" in warning
    )
    assert warning.startswith("make_array is smaller here (")
    assert "plan again" in warning


def run_with_file(folder: Path, file: Path) -> RunRecord:
    """Map a file of 2 MiB, half of it a hole."""
    file.write_bytes(bytes(1 << 20))
    os.truncate(file, 2 << 20)
    made = ranged_plan()
    made.placements.append(
        placement(
            9, f"file {file.name}", "near", 2, kind="file", frames=[], parts=ranges((0, 1), 2)
        )
    )
    save(made, folder / "plan.json")
    done = run_verb(folder, "--map", "far=node:0", "--", str(folder / "ranges"), str(file))
    assert done.returncode == 0, done.stderr
    return load(folder / "record.json", RunRecord)


def test_a_placed_file_keeps_its_position_locks_and_holes(folder: Path) -> None:
    """The program checks them itself."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        record = run_with_file(folder, Path(memory) / "ranges.data")
    assert not [w for w in record.warnings if "ranges.data is mapped from" in w]


def test_a_file_that_no_policy_places_is_reported(folder: Path) -> None:
    """The temporary folder may be tmpfs; the program's own folder in the checkout is not."""
    here = Path(__file__).parent / "programs" / "ranges.c"
    system = subprocess.check_output(["stat", "-f", "-c", "%T", str(here.parent)], text=True)
    if system.strip() in ("tmpfs", "hugetlbfs"):
        pytest.skip("this checkout is on tmpfs")
    file = here.with_name("ranges.data")
    try:
        record = run_with_file(folder, file)
        assert [
            w for w in record.warnings if w.startswith("ranges.data is mapped from a file system")
        ]
    finally:
        file.unlink(missing_ok=True)


def test_each_ranged_object_has_a_target_of_its_own() -> None:
    made = ranged_plan()
    memories = resolve_memories(made, ["far=file:/dev/shm"])
    targets = make_targets(made, memories, adapt=False)
    assert len(set(targets.of_object.values())) == len(SIZES)
    assert {targets.shapes[t][0] for t in targets.of_object.values()} == {layout.IN_RANGES}
    assert targets.shares(targets.of_object[0]) == pytest.approx({0: 5 / 8, 1: 3 / 8})

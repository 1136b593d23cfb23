"""Eight threads under a plan with near, far and divided objects; every block is checked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nearfar.documents import RunRecord, load, save
from nearfar.documents.plan import Part, Placement

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import PROGRAMS, placement, plan, run_verb

MIN_BLOCKS_PER_S = 1000
"""Blocks that eight threads check in a second at least, on a loaded machine too."""

MIN_DIVIDED = 0.75
"""Share on plan of blocks that are divided: which half of the addresses the live blocks fill is
chance, and one page in eight is sampled: some 150 of 4 MiB, so that 0.9 is two and a half standard
deviations."""


def soak(tmp_path: Path, placements: list[Placement], seconds: int) -> RunRecord:
    source = PROGRAMS / "soak.cpp"
    subprocess.run(
        ["c++", "-std=c++20", "-O1", "-g", "-pthread", str(source), "-o", str(tmp_path / "soak")],
        check=True,
    )
    save(plan(placements), tmp_path / "plan.json")
    done = run_verb(
        tmp_path, "--map", "far=file:/dev/shm", "--force", "--",
        str(tmp_path / "soak"), str(seconds), "8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) > MIN_BLOCKS_PER_S * seconds
    return load(tmp_path / "record.json", RunRecord)


@pytest.mark.parametrize("seconds", [2, pytest.param(1800, marks=pytest.mark.long)])
def test_every_block_keeps_its_content(tmp_path: Path, seconds: int) -> None:
    halves = [Part(memory="near", share=0.5), Part(memory="far", share=0.5)]
    placements = [
        placement(0, "make_near", "near"),
        placement(1, "make_far", "far"),
        placement(2, "make_divided", "far", parts=halves),
        placement(3, "make_cleared", "far"),
        placement(4, "make_aligned", "far"),
        placement(5, "make_new", "near"),
    ]
    for landing in soak(tmp_path, placements, seconds).objects:
        assert landing.on_plan is not None, landing
        divided = len(landing.planned) > 1
        assert landing.on_plan > (MIN_DIVIDED if divided else 0.95), landing


@pytest.mark.parametrize("seconds", [2, pytest.param(1800, marks=pytest.mark.long)])
def test_a_plan_that_keeps_everything_near_keeps_every_block(tmp_path: Path, seconds: int) -> None:
    record = soak(tmp_path, [placement(0, "make_near", "near")], seconds)
    assert record.recognised_share_of_heap is not None
    assert record.heap_bytes > 1 << 20

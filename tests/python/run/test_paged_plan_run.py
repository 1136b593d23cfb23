"""Runs under plans whose far memory is paged: what is locked, what is offered, and the record."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from swap_alone import permitted, swap_alone

from nearfar.__main__ import main
from nearfar.base.errors import CommandError, ExitCode
from nearfar.documents import Plan, RunRecord, loaded, save
from nearfar.documents.plan import Move, PhasePlacements
from nearfar.memories.paged.group import find_group_parent
from nearfar.options.run import RunOptions
from nearfar.run import layout, process_memory
from nearfar.run.local_memories import resolve_memories
from nearfar.run.paged_plan import locking, paged_spec

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import PROGRAMS, objects_plan

INCLUDE = Path(__file__).parents[3] / "include"
BUDGET = 30 << 20


@pytest.fixture(autouse=True)
def journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with swap_alone():
        yield tmp_path / "cache/nearfar/paged"


def paged_plan(**more: object) -> Plan:
    """Return a plan for programs/paged.c at `BUDGET` that locks half of the first block."""
    parts = {"make_first": [("near", 0.5), ("far", 0.5)]}
    where = {"make_first": "near", "make_second": "far"}
    made = objects_plan(where, parts=parts, **more)  # type: ignore[arg-type]
    made.budget_bytes = BUDGET
    for placement in made.placements:
        placement.size_bytes = 24 << 20
    return made


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"beside_kernel": True}, "--beside-kernel compares a plan in paged memory"),
        ({"beside_kernel": True, "map": ["far=node:1"]}, "add --map far=zram"),
        ({"yes": True, "map": ["far=node:1"]}, "--yes is for --far or --map far=zram"),
    ],
)
def test_options_of_paged_plans_alone_are_refused(options: dict[str, object], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        RunOptions(program=["true"], **options)  # type: ignore[arg-type]


def test_at_most_nine_tenths_of_the_budget_are_locked() -> None:
    memories = resolve_memories(paged_plan(), ["far=zram,algorithm=lz4"])
    assert str(paged_spec(memories)) == "zram,algorithm=lz4"
    kinds = [memory.kind for memory in locking(memories, BUDGET, 0)]
    assert kinds == [layout.DEFAULT, layout.LOCKED, layout.PAGED]
    for planned in (0, BUDGET):
        room = locking(memories, BUDGET, planned)[1].capacity_bytes
        assert room == pytest.approx(0.9 * BUDGET, abs=4096)
    assert locking(memories, BUDGET, 5000)[1].capacity_bytes == 8192


def test_a_budget_below_any_program_is_refused_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], journals: Path
) -> None:
    made = paged_plan()
    made.budget_bytes = 4096
    save(made, tmp_path / "plan.json")
    words = ["run", str(tmp_path / "plan.json"), "--map", "far=zram", "--yes", "--", "true"]
    assert main(words) == ExitCode.WRONG_USE
    assert "is below the least of any program" in capsys.readouterr().err
    assert not journals.exists()


def test_pages_in_main_memory_are_told_from_those_that_are_nowhere() -> None:
    pages = mmap.mmap(-1, 8 * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages[0] = pages[3 * 4096] = 1
    begin = np.frombuffer(pages, np.uint8).ctypes.data
    addresses = np.array([begin + number * 4096 for number in range(8)], np.uint64)
    states = process_memory.page_states(os.getpid(), addresses).tolist()
    assert states == [1, 0, 0, 1, 0, 0, 0, 0]


@permitted
def test_without_yes_nothing_is_set_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(paged_plan(), tmp_path / "plan.json")
    words = ["run", str(tmp_path / "plan.json"), "--map", "far=zram", "--beside-kernel"]
    assert main([*words, "--", "touch", "made"]) == ExitCode.DONE
    shown = capsys.readouterr().out
    assert "touch made  # again, without the plan: kernel" in shown
    assert "mkswap /dev/zramN" in shown
    assert str(BUDGET) in shown


@permitted
def test_a_plan_is_enforced_and_the_machine_is_as_before(tmp_path: Path, journals: Path) -> None:
    program = tmp_path / "paged"
    compiler = ["cc", "-O1", "-g", f"-I{INCLUDE}", str(PROGRAMS / "paged.c"), "-o", str(program)]
    subprocess.run(compiler, check=True)
    offered = Move(object=0, source="near", memory="far", bytes=12 << 20, cost_ns=0.0)
    phases = [PhasePlacements(phase="second", moves=[offered])]
    save(paged_plan(phases=phases), tmp_path / "plan.json")
    output = tmp_path / "record.json"
    words = ["run", str(tmp_path / "plan.json"), "--map", "far=zram", "--yes", "--beside-kernel"]
    assert main([*words, "-q", "-o", str(output), "--", str(program)]) == ExitCode.DONE
    record = loaded(output, RunRecord)
    paged, first = record.paged, record.objects[0]
    assert paged is not None
    # Half of the first block, from its first touch on, and little else.
    assert paged.locked_bytes == pytest.approx(12 << 20, rel=0.1)
    assert first.planned == pytest.approx({"near": 0.5, "far": 0.5}, abs=0.01)
    assert first.on_plan == pytest.approx(1.0, abs=0.02)
    assert record.objects[1].on_plan is None
    assert record.pages_by_memory["far"] > 10 << 20
    # The 12 MiB left of it fit beside the second block's pages that go: the kernel alone, without
    # locks and offers, has more pages come back.
    assert paged.swap_ins > 1000
    ways = {row.way: row for row in paged.alone}
    assert ways["kernel"].exit_status == "exited 0"
    assert ways["kernel"].swap_ins > 1000
    assert all(row.why_not or row.exit_status for row in ways.values())
    assert list(journals.iterdir()) == []
    assert not list(find_group_parent().parent.glob(f"nearfar-{os.getpid()}-*"))
    assert json.loads(output.read_text())["memories"][-1]["spec"] == "zram"

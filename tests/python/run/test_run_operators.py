"""Operators of C++ under `nearfar run`: each call of new is an object's, and replaced ones stay."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nearfar.documents import RunRecord, load, save

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import PROGRAMS, placement, plan, run_verb


def compiled(folder: Path, *words: str) -> Path:
    program = folder / "operators"
    source = PROGRAMS / "operators.cpp"
    subprocess.run(["c++", "-O1", "-g", *words, str(source), "-o", str(program)], check=True)
    return program


@pytest.mark.parametrize("words", [(), ("-DPLAIN_REPLACED",)], ids=["library", "replaced"])
def test_blocks_of_new_go_where_their_call_says(tmp_path: Path, words: tuple[str, ...]) -> None:
    program = compiled(tmp_path, *words)
    where = {"make_near": "near", "make_far": "far", "make_rows": "far"}
    save(
        plan([placement(number, *row, size_mib=1) for number, row in enumerate(where.items())]),
        tmp_path / "plan.json",
    )
    done = run_verb(tmp_path, "--map", "far=file:/dev/shm", "--", str(program))
    assert done.returncode == 0, done.stderr
    record = load(tmp_path / "record.json", RunRecord)
    assert record.exit_status.startswith("exited 0"), record.exit_status
    for landing in record.objects:
        assert landing.recognised_bytes > 0.5 * (1 << 20), landing
        assert landing.bytes_by_memory.keys() == {where[landing.name]}, landing

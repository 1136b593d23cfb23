"""Operators of C++ under `nearfar run`: each call of new is an object's, and replaced ones stay."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nearfar.documents import RunRecord, load, save

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import PROGRAMS, placement, plan, run_verb

SHARED = ("-fPIC", "-shared")


def compiled(folder: Path, name: str, *words: str) -> str:
    program = folder / name
    source = str(PROGRAMS / "operators.cpp")
    subprocess.run(["c++", "-O1", "-g", source, "-o", str(program), *words], check=True)
    return str(program)


def library(folder: Path) -> list[str]:
    return [compiled(folder, "operators")]


def replaced(folder: Path) -> list[str]:
    return [compiled(folder, "operators", "-DPLAIN_REPLACED")]


def replaced_in_library(folder: Path) -> list[str]:
    headers = compiled(folder, "libheaders.so", "-DHEADERS", *SHARED)
    return [compiled(folder, "operators", "-DHAS_HEADERS", headers, f"-Wl,-rpath,{folder}")]


def plugin(folder: Path) -> list[str]:
    """A C++ library that came with a plugin: the program has none of its names."""
    host = folder / "operators"
    subprocess.run(["cc", str(PROGRAMS / "plugin_host.c"), "-o", str(host)], check=True)
    return [str(host), compiled(folder, "plugin.so", "-DPLUGIN", *SHARED)]


PLACES = {"make_near": "near", "make_far": "far", "make_rows": "far"}


def run(tmp_path: Path, where: dict[str, str], program: list[str]) -> RunRecord:
    made = plan([placement(number, *row, size_mib=1) for number, row in enumerate(where.items())])
    save(made, tmp_path / "plan.json")
    done = run_verb(tmp_path, "--map", "far=file:/dev/shm", "--force", "--", *program)
    assert done.returncode == 0, done.stderr
    record = load(tmp_path / "record.json", RunRecord)
    assert record.exit_status.startswith("exited 0"), record.exit_status
    return record


@pytest.mark.parametrize("program", [library, replaced, replaced_in_library, plugin])
def test_blocks_of_new_go_where_their_call_says(
    tmp_path: Path, program: Callable[[Path], list[str]]
) -> None:
    record = run(tmp_path, PLACES, program(tmp_path))
    for landing in record.objects:
        assert landing.recognised_bytes > 0.5 * (1 << 20), landing
        assert landing.bytes_by_memory.keys() == {PLACES[landing.name]}, landing


@pytest.mark.parametrize("program", [library, replaced, replaced_in_library, plugin])
def test_a_plan_that_keeps_everything_near_leaves_operators_as_they_are(
    tmp_path: Path, program: Callable[[Path], list[str]]
) -> None:
    record = run(tmp_path, dict.fromkeys(PLACES, "near"), program(tmp_path))
    # One block per 512 KiB is sampled.
    assert record.heap_bytes > 0
    assert sum(landing.recognised_bytes for landing in record.objects) > 0

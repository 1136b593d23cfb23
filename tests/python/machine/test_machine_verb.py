"""The verb `machine` on the test machine, compared with other tools."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from machine_trees import HERE, expand, make

from nearfar.__main__ import main
from nearfar.base.errors import ExitCode
from nearfar.documents import MachineProfile, load
from nearfar.machine import syscalls
from nearfar.machine.read import read_machine


def _machine(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, object]:
    assert main(["machine", "--json", *options]) == ExitCode.DONE
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


def test_this_machine_agrees_with_the_c_library(capsys: pytest.CaptureFixture[str]) -> None:
    result = _machine(capsys)
    assert len(result["cpus"]) == os.sysconf("SC_NPROCESSORS_ONLN")  # type: ignore[arg-type]
    answer = subprocess.run(
        ["getconf", "LEVEL3_CACHE_SIZE"], check=True, capture_output=True, text=True
    )
    theirs = answer.stdout.strip()
    ours = [cache["size_bytes"] for cache in result["caches"] if cache["level"] == 3]  # type: ignore[attr-defined]
    if theirs.isdigit() and int(theirs) and ours:
        # On AMD, the C library gives the share of one group of cores or the sum of several.
        assert int(theirs) % ours[0] == 0 or ours[0] % int(theirs) == 0


def test_text_names_caches_nodes_and_missing_abilities(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["machine"]) == ExitCode.DONE
    shown = capsys.readouterr().out
    assert [word for word in ("cpu ", "caches", "nodes", "usable") if word not in shown] == []


def test_a_given_root_is_read_instead_of_this_machine(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    make("two-sockets", tmp_path)
    assert main(["machine", "--root", str(tmp_path)]) == ExitCode.DONE
    assert capsys.readouterr().out == (HERE / "two-sockets.txt").read_text()
    names = {line["name"] for line in _machine(capsys, "--root", str(tmp_path))["abilities"]}  # type: ignore[attr-defined]
    assert "compiler-pass" not in names, "that is of this installation, not of a captured tree"


def test_the_document_is_written_and_loads(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "machine.json"
    assert main(["machine", "-o", str(path), "--quiet"]) == ExitCode.DONE
    assert capsys.readouterr().out == ""
    assert load(path, MachineProfile).cpus
    assert main(["machine", "-o", str(tmp_path / "no" / "machine.json")]) == ExitCode.MACHINE_LACKS
    assert "mkdir -p" in capsys.readouterr().err


def test_every_missing_ability_is_one_line_and_every_remedy_a_command() -> None:
    for line in read_machine().abilities:
        assert line.detail
        assert "\n" not in line.detail + line.remedy
        assert not (line.usable and line.remedy)


@pytest.mark.parametrize(
    "attempt",
    [syscalls.try_cache_miss_counter, syscalls.try_move_pages, syscalls.try_userfaultfd],
    ids=lambda attempt: attempt.__name__,
)
def test_trying_a_system_call_leaves_no_file_open(attempt: object) -> None:
    before = _open_files()
    assert isinstance(attempt(), int)  # type: ignore[operator]
    assert _open_files() == before


def test_a_capture_of_this_machine_reads_like_this_machine(tmp_path: Path) -> None:
    """nearfar reads nothing that capture.py leaves out."""
    made = subprocess.run(
        [sys.executable, HERE / "capture.py"], capture_output=True, text=True, check=True
    )
    expand(made.stdout, tmp_path)
    here, there = read_machine(), read_machine(tmp_path)
    for machine in (here, there):
        machine.producer = here.producer
        for node in machine.nodes:
            node.free_bytes = node.memory_bytes = 0
        # Only the running machine can answer these.
        machine.abilities = [
            line
            for line in machine.abilities
            if line.name not in ("compiler-pass", "page-placement", "counters", "userfaultfd")
        ]
    assert there == here


def _open_files() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}

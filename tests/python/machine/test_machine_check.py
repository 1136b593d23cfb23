"""`nearfar machine --check` on machines with deliberate defects and on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest
from machine_trees import HERE, NAMES, expand, make

from nearfar.__main__ import main
from nearfar.base.errors import ExitCode
from nearfar.documents import MachineCheck, load
from nearfar.machine.check import COSTS, check_machine
from nearfar.machine.checks import CHECKS
from nearfar.machine.ipmctl import resources, settings, size_bytes, table
from nearfar.machine.sysfs import Tree

ONLY_LIVE = {
    "compiler-pass", "page-placement", "counters", "userfaultfd", "tools", "devdax",
    # Results of tools, and groups that a capture does not name.
    "pmem-sensors", "pmem-mode", "cxl-health", "firmware", "container", "cgroup-memory",
}  # fmt: skip
"""Findings that only the running machine can have."""


def _states(root: Path, state: str) -> set[str]:
    return {finding.name for finding in check_machine(root).findings if finding.state == state}


def test_every_defect_of_the_sick_machine_is_reported(tmp_path: Path) -> None:
    root = make("optane-sick-in-container", tmp_path)
    lacking = _states(root, "lacks")
    assert lacking >= {
        "auto-online", "cgroup-memory", "command-line", "container", "cxl-regions", "firmware",
        "hmat", "huge-pages", "kernel", "pmem-health", "pmem-mode", "pmem-regions",
        "pmem-sensors", "tiers", "weighted-interleave",
    }  # fmt: skip
    assert _states(root, "note") >= {"auto-online", "pmem-regions", "shared-memory", "pmem-mode"}


def test_a_missing_ability_has_its_cost(tmp_path: Path) -> None:
    for name in NAMES:
        root = tmp_path / name
        root.mkdir()
        for finding in check_machine(make(name, root)).findings:
            if finding.state in ("lacks", "note"):
                assert finding.costs, f"{name}: {finding.name}"
            assert "\n" not in finding.found + finding.costs + finding.fix


def test_every_ability_has_a_cost() -> None:
    from nearfar.machine import abilities
    from nearfar.machine.abilities.far_node import PLACEMENT

    assert set(abilities.ABILITIES.names()) | {PLACEMENT} == set(tomllib.loads(COSTS.read_text()))
    assert len(CHECKS.names()) >= 15


def test_the_verb_exits_with_1_if_an_ability_is_missing_and_with_0_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sick = make("optane-sick-in-container", tmp_path / "sick")
    assert main(["machine", "--check", "--root", str(sick)]) == ExitCode.FOUND
    assert "fix: " in capsys.readouterr().out
    well = make("two-sockets", tmp_path / "well")
    (well / "proc/sys/kernel/osrelease").write_text("6.12.0")
    (well / "proc/sys/kernel/perf_event_paranoid").write_text("1")
    (well / "proc/sys/vm/unprivileged_userfaultfd").write_text("1")
    (well / "sys/kernel/mm/transparent_hugepage/enabled").write_text("[always] madvise never")
    for folder in ("sys/kernel/mm/mempolicy/weighted_interleave", "sys/kernel/mm/damon"):
        (well / folder).mkdir(parents=True)
    document = tmp_path / "check.json"
    options = ["--root", str(well), "-o", str(document)]
    assert main(["machine", "--check", *options, "--quiet"]) == ExitCode.DONE
    assert capsys.readouterr().out == ""
    assert load(document, MachineCheck).lacks() == []


def test_this_machine_is_checked_without_privileges(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["machine", "--check", "--json"])
    result = msgspec.convert(json.loads(capsys.readouterr().out), MachineCheck)
    assert code == (ExitCode.FOUND if result.lacks() else ExitCode.DONE)
    names = {finding.name for finding in result.findings}
    assert {"kernel", "container", "hmat", "pmem-health", "cxl-regions"} <= names


def test_a_capture_of_this_machine_has_the_same_findings(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, HERE / "capture.py"], capture_output=True, text=True, check=True
    )
    expand(made.stdout, tmp_path)
    here, there = (
        {(f.name, f.state) for f in check_machine(root).findings if f.name not in ONLY_LIVE}
        for root in (Path("/"), tmp_path)
    )
    assert here == there


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("proc/self/status", "Mems_allowed_list:\tmany", "a list of nodes"),
        ("proc/self/status", "Mems_allowed_list:\t0\nCapEff:\tall", "hexadecimal"),
        ("proc/self/cgroup", "nonsense", "a line such as"),
        ("sys/bus/nd/devices/region0/target_node", "far", "a whole number"),
    ],
)
def test_unknown_abilities_are_refused_by_name(
    path: str, text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make("optane-sick-in-container", tmp_path)
    (root / path).write_text(text)
    assert main(["machine", "--check", "--root", str(root)]) == ExitCode.WRONG_USE
    message = capsys.readouterr().err
    assert said in message and path in message
    assert message.count("\n") == 1


def test_check_and_measure_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["machine", "--check", "--measure"]) == ExitCode.WRONG_USE
    assert "give one of them" in capsys.readouterr().err


def test_both_formats_of_ipmctl_are_read(tmp_path: Path) -> None:
    """Versions 2 and 3 print a table, version 1 prints settings, with the same capacities."""
    answer = tmp_path / "tools/ipmctl_show_-memoryresources"
    answer.parent.mkdir()
    (tmp_path / "proc").mkdir()
    answer.write_text(
        " MemoryType   | DDR         | DCPMM       | Total\n"
        "========================================================\n"
        " Volatile     | 128.000 GiB | 0.000 GiB   | 128.000 GiB\n"
        " AppDirect    | -           | 504.000 GiB | 504.000 GiB\n"
        " Cache        | 0.000 GiB   | -           | 0.000 GiB\n"
        " Inaccessible | -           | 1.689 GiB   | 1.689 GiB\n"
        " Physical     | 128.000 GiB | 505.689 GiB | 633.689 GiB\n"
    )
    new = resources(Tree(tmp_path))
    answer.write_text(
        "Capacity=505.689 GiB\nMemoryCapacity=0 B\nAppDirectCapacity=504.000 GiB\n"
        "UnconfiguredCapacity=0 B\nInaccessibleCapacity=1.689 GiB\nReservedCapacity=0 B\n"
    )
    old = resources(Tree(tmp_path))
    assert new is not None and old is not None
    assert (new.app_direct_bytes, new.modules_bytes) == (504 << 30, old.modules_bytes)
    assert new.dram_bytes == 128 << 30
    assert (old.app_direct_bytes, old.inaccessible_bytes) == (504 << 30, new.inaccessible_bytes)
    answer.write_text("No PMem modules in the system.\n")
    assert resources(Tree(tmp_path)) is None


def test_text_without_a_table_gives_no_modules() -> None:
    assert table("") == table("====") == table("a | b\n=====\nhalf a row") == []
    assert settings("A=1\n  B = 2\nno") == {"A": "1"}
    assert size_bytes("-") is None
    assert size_bytes("1.5 TiB") == 3 << 39

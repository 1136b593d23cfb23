"""The verb: refusals in one sentence, and a real run of two kernels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import validation_results as made

from nearfar.__main__ import main
from nearfar.documents import ValidationReport, load, save
from nearfar.validate.report import pooled


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--far", "model:optane-100"], 2, "simulated"),
        (["--far", "hugetlb:2M"], 2, "reserved pages"),
        (["--far", "dram,pages=thp"], 2, "nothing to predict"),
        (["--near", "dram,pages=thp,load=store"], 2, "has a load"),
        (["--far", "node:99"], 3, "node 99"),
        (["--far", "file:/nowhere/at/all"], 3, "/nowhere/at/all"),
        (["--only", "gathr"], 2, "gather"),
        (["--rounds", "1"], 2, "from 2"),
        (["--store", "somewhere"], 2, "--learn"),
        (["--again"], 2, "--pool"),
        (["--size", "64KiB"], 2, "at least"),
        (["--pool", "/nowhere.jsonl"], 2, "cannot read"),
        (["--pool", "/nowhere.jsonl", "--cores", "together"], 2, "--pool measures nothing"),
        (["--pool"], 2, "--pool names no file"),
        (["--pool", "/nowhere.jsonl", "--rounds", "5"], 2, "--pool measures nothing"),
        (["--cores", "sideways"], 2, "sideways"),
        (["-o", "/nowhere/report.json"], 3, "cannot write"),
        (["--plot", "picture.txt"], 2, "picture.txt"),
        (["--", "/nowhere/program"], 2, "no such file"),
    ],
)
def test_wrong_use_is_refused_in_one_sentence(
    arguments: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", *arguments]) == code
    output = capsys.readouterr()
    assert words in output.err
    assert len(output.err.strip().splitlines()) == 1
    assert output.out == ""


def test_native_parts_report_no_leaks_when_the_program_ends() -> None:
    command = [sys.executable, "-m", "nearfar", "validate", "--pool", "/nowhere.jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1


def test_kernels_are_a_fixed_list_of_at_least_fourteen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--only", "list"]) == 0
    names = capsys.readouterr().out.split()
    assert len(names) >= 14
    assert {"gather", "gups", "btree", "skip_list", "triad", "spmv", "merge", "sort"} <= set(names)


def test_pooled_reports_are_printed_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        results = [
            made.result(
                f"kernel-{i}", 1.1 + 0.05 * i, {"best": 1.1 + 0.05 * i, "null": 1.0},
                of_session=name,
            )
            for i in range(12)
        ]  # fmt: skip
        save(pooled([made.session(name)], results), tmp_path / f"{name}.json")
    files = [str(tmp_path / "one.json"), str(tmp_path / "two.json")]
    picture = tmp_path / "picture.png"
    assert main(["validate", "--pool", *files, "--plot", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "2 sessions" in out
    assert "A/A floor" in out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert main(["validate", "--pool", *files, "--json"]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["models"]["best"]["mean_error"] == 0.0
    assert len(outcome["kernels"]) == 24


needs_two_cores = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="the stand-in needs a contending core"
)


@pytest.mark.long
@pytest.mark.timing
@needs_two_cores
def test_two_kernels_are_predicted_and_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, store = tmp_path / "report.json", tmp_path / "store.jsonl"
    size = ["--size", "16MiB", "--rounds", "2", "--quick", "--quiet"]
    kernels = ["--only", "gather,chase_arithmetic", "--far", "dram,pages=4k,load=store"]
    kept = ["-o", str(output), "--learn", "--store", str(store)]
    code = main(["validate", *kernels, *size, *kept])
    if code != 0 and "no results" in capsys.readouterr().err:
        pytest.skip("the hypervisor moved the cores during every sample")
    assert code == 0
    report = load(output, ValidationReport)
    # Where a hypervisor moves the cores constantly, a kernel is left out with a report.
    left_out = [text for text in report.warnings if "is left out" in text]
    assert len(report.results) + len(left_out) == 2
    assert {each.name for each in report.results} <= {"gather", "chase_arithmetic"}
    _check_what_was_measured(report)
    assert len(store.read_bytes().splitlines()) == len(report.results)
    assert not _leftovers(tmp_path)


KERNELS = ("gather", "gups")

INTERRUPTED = """
import os, signal, sys
from nearfar.__main__ import main
from nearfar.validate import core_pairing, session, timing

timed = timing.TimingLoop._timed

def interrupted(self, *of):
    if self.state.results:
        os.kill(os.getpid(), signal.SIGINT)
    return timed(self, *of)

core_pairing.transfer_between = lambda cpus: None
session.FIRST_ROUNDS = 2
timing.TimingLoop._timed = interrupted
sys.exit(main(sys.argv[1:]))
"""
"""Ctrl-C while the kernel behind the first finished one runs; curves need two rounds.

The cores count as one pairing: where a hypervisor moves them, a kernel may have no result.
"""


@needs_two_cores
def test_ctrl_c_keeps_finished_kernels_and_leaves_no_process(tmp_path: Path) -> None:
    output, store = tmp_path / "report.json", tmp_path / "store.jsonl"
    command = [sys.executable, "-c", INTERRUPTED, "validate", "--quick", "--size", "4MiB"]
    command += ["--far", "dram,pages=4k,load=store", "--rounds", "2"]
    command += ["-o", str(output), "--learn", "--store", str(store), "--only", ",".join(KERNELS)]
    done = subprocess.run(command, capture_output=True, start_new_session=True, check=False)
    assert done.returncode == 130, done.stderr
    assert b"Interrupted" in done.stdout
    report = load(output, ValidationReport)
    assert report.ended == "interrupted"
    assert len(report.results) == 1
    _check_what_was_measured(report)
    assert len(store.read_bytes().splitlines()) == len(report.results)
    assert not _leftovers(tmp_path)


def _check_what_was_measured(report: ValidationReport) -> None:
    for each in report.results:
        assert len(each.near_samples_ns) == len(each.far_samples_ns) >= 2
        assert min(each.near_samples_ns) > 0
        assert each.models["null"].slowdown == 1.0
        assert each.inputs is not None
    assert report.near_device is not None
    assert report.near_device.chains
    assert report.floor >= 0.0


def _leftovers(folder: Path) -> list[str]:
    """Return kernels and co-runners that still run, and leftover files."""
    results = []
    for status in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = status.read_bytes().split(b"\0")
        except OSError:
            continue
        ours = b"nearfar.contention.load" in words or Path(os.fsdecode(words[0])).name in KERNELS
        if ours and _is_ours(status.parent):
            results.append(str(words))
    return results + [path.name for path in folder.iterdir() if path.name.startswith(".")]


def _is_ours(process: Path) -> bool:
    """Return whether a process is an orphan or a child of this one: others may validate too."""
    try:
        parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError):
        return False
    return parent in (1, os.getpid())

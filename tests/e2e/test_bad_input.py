"""Errors give one sentence and the right exit code and leave no partial files."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nearfar.base.errors import ExitCode

from .conftest import ROOT, WholePath, nearfar

TINY = ("--quick", "--repetitions", "2", "--largest", "1MiB", "--accept-noise", "--only", "idle")
PROGRESS = re.compile(r"nearfar: run \d+ of \d+: ")


def refuse(exit_code: ExitCode, words: tuple[object, ...], *said: str) -> None:
    done = nearfar(*words)
    assert done.returncode == exit_code, f"{words}: {done.returncode}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    lines = [
        line
        for line in done.stderr.splitlines()
        if line.startswith("nearfar:") and not PROGRESS.match(line)
    ]
    assert len(lines) == 1, done.stderr
    for text in said:
        assert text in lines[0], lines[0]


def test_wrong_words() -> None:
    refuse(ExitCode.WRONG_USE, ("perdict",), "perdict")
    refuse(ExitCode.WRONG_USE, ("predict",))
    refuse(ExitCode.WRONG_USE, ("device", "show", "optane-100-6dim"), "optane-100-6dimm")


def test_programs_that_cannot_be_profiled(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    refuse(ExitCode.WRONG_USE, ("profile", "-o", out, "--", "/no/such/program"), "/no/such/program")
    plain = tmp_path / "plain"
    subprocess.run(["cp", "/bin/true", str(plain)], check=True)
    words = ("profile", "--source", "compiled", "-o", out, "--", plain)
    refuse(ExitCode.WRONG_USE, words, "nearfar cc")
    plain.chmod(0o644)
    refuse(ExitCode.WRONG_USE, ("profile", "-o", out, "--", plain), str(plain))
    assert [entry.name for entry in tmp_path.iterdir()] == ["plain"]


def test_a_program_that_dies_at_once(tmp_path: Path) -> None:
    source = tmp_path / "dies.c"
    source.write_text("#include <stdlib.h>\nint main(void) { abort(); }\n")
    program = tmp_path / "dies"
    assert nearfar("cc", source, "-o", program).returncode == 0
    words = ("profile", "-o", tmp_path / "run.json", "--", program)
    refuse(ExitCode.PROGRAM_FAILED, words, "SIGABRT")


def test_documents_of_the_wrong_kind(tmp_path: Path, whole_path: WholePath) -> None:
    out = tmp_path / "out.json"
    far = ("--far", "optane-100-6dimm", "-o", out)
    half = tmp_path / "half.json"
    half.write_bytes(whole_path.run.read_bytes()[:1000])
    refuse(
        ExitCode.WRONG_USE, ("predict", half, "--near", whole_path.near, *far), "its end is missing"
    )
    swapped = ("predict", whole_path.near, "--near", whole_path.near, *far)
    refuse(ExitCode.WRONG_USE, swapped, "workload-profile")
    old = tmp_path / "old.json"
    old.write_text(whole_path.run.read_text().replace('"version": 1', '"version": 0', 1))
    refuse(ExitCode.WRONG_USE, ("predict", old, "--near", whole_path.near, *far), "version 0")
    assert not out.exists()


@pytest.mark.parametrize("budget", ["-1GiB", "2 gigs", "25", "nan%", "-3%", "150 percent"])
def test_meaningless_budgets(
    refused: Callable[[list[str]], tuple[int, str]], whole_path: WholePath, budget: str
) -> None:
    words = ["place", str(whole_path.run), "--near", str(whole_path.near), "-o", "plan.json"]
    code, stderr = refused([*words, "--far", "optane-100-6dimm", f"--budget={budget}"])
    assert (code, budget in stderr) == (ExitCode.WRONG_USE, True), stderr


@pytest.mark.parametrize("verb", ["measure", "predict", "place", "report", "profile", "machine"])
def test_unwritable_outputs(tmp_path: Path, whole_path: WholePath, verb: str) -> None:
    devices = ("--near", whole_path.near, "--far", "optane-100-6dimm")
    words: dict[str, tuple[object, ...]] = {
        "machine": (),
        "measure": ("dram", *TINY),
        "predict": (whole_path.run, *devices),
        "place": (whole_path.run, *devices, "--budget", "25%"),
        "report": (whole_path.run, *devices),
        "profile": ("--repetitions", "1"),
    }
    after = ("--", whole_path.program, ROOT / "docs") if verb == "profile" else ()
    missing = tmp_path / "no" / "out"
    refuse(ExitCode.MACHINE_LACKS, (verb, *words[verb], "-o", missing, *after), "mkdir -p")
    full = (verb, *words[verb], "-o", "/dev/full", *after)
    refuse(ExitCode.MACHINE_LACKS, full, "No space left")
    assert Path("/dev/full").is_char_device()

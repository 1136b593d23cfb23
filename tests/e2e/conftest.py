"""Runs the whole path once on a shipped program for the end-to-end tests."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import forked
import pytest
from patience import patience

from nearfar.__main__ import main
from nearfar.base.errors import ExitCode
from nearfar.documents import save

from .first_answers import Refused, near_memory

ROOT = Path(__file__).resolve().parents[2]
NEARFAR = Path(sys.executable).parent / "nearfar"


def nearfar(*words: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a verb in a process of its own."""
    return forked.nearfar(*words, cwd=cwd, timeout=patience(300))


@dataclass
class WholePath:
    """Holds the documents of a run."""

    program: Path
    run: Path
    near: Path
    prediction: Path
    plan: Path
    report: Path


@pytest.fixture(scope="session")
def whole_path(tmp_path_factory: pytest.TempPathFactory) -> WholePath:
    """Make the documents once for all workers: the first one makes them, the others wait."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "whole"
    folder.mkdir(exist_ok=True)
    made = WholePath(
        program=folder / "inverted_index",
        run=folder / "run.json",
        near=folder / "near.json",
        prediction=folder / "prediction.json",
        plan=folder / "plan.json",
        report=folder / "report.html",
    )
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.report.exists():  # the last step's document
            _make(made)
    return made


QUICK = (
    "--quick",
    "--seconds",
    "5",
    "--accept-noise",
    "--only",
    "idle,chains,bandwidth",
    "--largest",
    "64MiB",
)


def _make(made: WholePath) -> None:
    """Build, measure, profile, predict, place, report; every step must exit with 0."""
    texts = Path(sysconfig.get_path("stdlib")) / "asyncio"
    devices = ("--near", made.near, "--far", "optane-100-6dimm")
    source = ROOT / "examples/inverted_index/inverted_index.cpp"
    steps: list[tuple[object, ...]] = [
        ("c++", "-std=c++20", "-O2", f"-I{ROOT}/include", source, "-o", made.program),
        ("measure", "dram", *QUICK, "--quiet", "-o", made.near),
        ("profile", "--repetitions", "2", "-o", made.run, "--", made.program, texts),
        ("predict", made.run, *devices, "-o", made.prediction),
        ("place", made.run, *devices, "--budget", "25%", "-o", made.plan),
        ("report", made.run, *devices, "-o", made.report),
    ]
    for step in steps:
        # Like a user: in a new interpreter, by the installed name.
        done = subprocess.run(
            [str(NEARFAR), *map(str, step)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=patience(300),
        )
        assert done.returncode == 0, f"nearfar {step[0]}: {done.stdout}\n{done.stderr}"


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache whose near.json is for `try --near`, which does not measure its latency."""
    home = tmp_path_factory.mktemp("cache")
    save(near_memory(100.0), home / "near.json")
    return home


@pytest.fixture
def refusal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Refused:
    """Return a function that runs `try` here, is refused at once, and returns standard error.

    Another process takes a second to start.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(*words: str, beside: Sequence[str] = ()) -> str:
        assert main(["try", *words]) == ExitCode.WRONG_USE
        assert [path.name for path in tmp_path.iterdir()] == list(beside)
        return capfd.readouterr().err

    return run

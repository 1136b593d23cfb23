"""The example for continuous integration passes unchanged and fails when misses grow."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[3] / "examples/continuous_integration"


def check(folder: Path, flags: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "FLAGS": flags}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    return subprocess.run(
        [str(folder / "check.sh")], env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy = tmp_path / "example"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("build"))
    return copy


def test_the_check_passes_unchanged(folder: Path) -> None:
    ran = check(folder, "")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "measure" in tomllib.loads((EXAMPLE / "times.toml").read_text())


@pytest.mark.long
def test_the_check_fails_when_misses_grow(folder: Path) -> None:
    wide = check(folder, "-DWIDE")
    assert wide.returncode == 1, wide.stdout + wide.stderr
    assert "make_orders lookup.cpp" in (folder / "build/nearfar.html").read_text()
    assert "<failure" in (folder / "build/nearfar.xml").read_text()

"""A test marked `timing` that fails is repeated with a new measurement."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULE = """
import pytest

made = []

@pytest.fixture(scope="module")
def base():
    made.append("base")
    return len(made)

@pytest.fixture(scope="module", params=["first", "second"])
def measured(request, base):
    made.append(request.param)
    yield request.param
    made.append("closed " + request.param)

@pytest.mark.timing
def test_fails_at_the_first_attempt(measured):
    assert made.count(measured) == 2 or measured == "second"

@pytest.mark.timing
def test_fails_at_each_attempt(measured):
    assert measured == "first"

def test_closes_each_measurement(base):
    closed = ["closed " + name for name in ("first", "first", "second")]
    assert [name for name in made if name.startswith("closed")] == closed
"""


def test_a_repeated_test_measures_again(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = timing: t\n  long: l\n")
    (tmp_path / "test_module.py").write_text(MODULE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        [*command, "test_module.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 4 passed, 2 rerun" in ran.stdout, ran.stdout + ran.stderr
    assert "FAILED test_module.py::test_fails_at_each_attempt[second]" in ran.stdout

"""The example for continuous integration: passes as it is, fails where misses grow."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[3] / "examples/continuous_integration"


def check(folder: Path, flags: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "FLAGS": flags}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    return subprocess.run(
        [str(folder / "check.sh")], env=environment, capture_output=True, text=True, check=False
    )


def test_the_check_passes_and_fails_where_it_should(tmp_path: Path) -> None:
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("build"))
    as_it_is = check(folder, "")
    assert as_it_is.returncode == 0, as_it_is.stdout + as_it_is.stderr
    wide = check(folder, "-DWIDE")
    assert wide.returncode == 1, wide.stdout + wide.stderr
    assert "make_orders lookup.cpp" in (folder / "build/nearfar.html").read_text()
    assert "<failure" in (folder / "build/nearfar.xml").read_text()
    assert "measure" in tomllib.loads((EXAMPLE / "times.toml").read_text())

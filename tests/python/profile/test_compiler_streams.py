"""Positions where streams enter sampled lines, compared with a walk over every byte."""

from __future__ import annotations

import subprocess
from pathlib import Path

from compiling import ROOT


def test_streams_enter_the_same_lines_as_a_walk(tmp_path: Path) -> None:
    program = tmp_path / "check"
    source = Path(__file__).parent / "streams_check.cpp"
    compiler = ["g++", "-std=c++20", "-O2", f"-I{ROOT / 'native'}"]
    subprocess.run([*compiler, str(source), "-o", str(program)], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "20000 streams\n")

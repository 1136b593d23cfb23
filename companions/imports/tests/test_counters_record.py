"""Counting with perf: refused without counters; read otherwise (by a stand-in for perf)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from forked import nearfar

from nearfar.documents import CounterProfile, load

STAND_IN = """#!/bin/sh
# Stands in for perf on a machine with counters: its text is as perf-stat(1) documents it.
out=
while [ "$1" != -- ] && [ $# -gt 1 ]; do
  [ "$1" = -o ] && out=$2
  shift
done
[ -z "$out" ] && { echo "5,,instructions:u,1,100.00,," >&2; exit 0; }
shift
"$@"; status=$?
echo "     0.500000000,2000,,instructions:u,1,100.00,," > "$out"
echo "     0.500000000,1000,,cycles:u,1,100.00,," >> "$out"
exit $status
"""


def run(*words: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PATH": path or os.environ["PATH"]}
    return nearfar("counters", "record", *words, env=env)


def test_without_perf_or_counters_one_sentence_reports_it(tmp_path: Path) -> None:
    output = tmp_path / "counters.json"
    empty = tmp_path / "empty"
    empty.mkdir()
    done = run("-o", str(output), "--", "/bin/true", path=str(empty))
    assert done.returncode == 3
    assert "apt-get install linux-perf" in done.stderr
    perf = shutil.which("perf")
    if perf is None:
        pytest.skip("perf is not installed: whether there are counters cannot be asked")
    words = [perf, "stat", "-x,", "-e", "instructions:u", "true"]
    if "<not supported>" not in subprocess.run(words, capture_output=True, text=True).stderr:  # noqa: PLW1510
        pytest.skip("this machine has hardware counters")
    done = run("-o", str(output), "--", "/bin/true")
    assert done.returncode == 3
    assert "cannot use this machine's hardware counters" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not output.exists()


@pytest.mark.parametrize(("program", "code"), [("/bin/true", 0), ("/bin/false", 4)])
def test_counts_of_a_stand_in_for_perf_are_read(program: str, code: int, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    perf = folder / "perf"
    perf.write_text(STAND_IN)
    perf.chmod(0o755)
    output = tmp_path / "counters.json"
    done = run("-o", str(output), "--", program, path=f"{folder}:{os.environ['PATH']}")
    assert done.returncode == code, done.stderr
    (only,) = load(output, CounterProfile).intervals
    assert (only.end_s, only.instructions, only.cycles) == (0.5, 2000, 1000)


def test_wrong_use_is_refused_in_one_sentence(tmp_path: Path) -> None:
    assert "name the program" in run().stderr
    done = run("-o", str(tmp_path / "c.json"), "--", "./not-here")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)

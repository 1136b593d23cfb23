"""A short exploration of each workload on a pool reports no bug."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from patience import patience

from nearfar.__main__ import main
from nearfar.documents.crash_report import CrashReport
from nearfar.documents.header import load
from nearfar.native_files import native_folder

_DUMPED = (
    "map-b-tree",
    "map-crit-bit",
    "map-hash-atomic",
    "map-hash-robin-hood",
    "map-hash-tx",
    "map-radix",
    "map-red-black",
    "map-skip-list",
    "intset",
    "store",
)
_CHECKED = ("log",)
_STATES = "60000"
"""Budget above the number of states of every workload."""


@pytest.mark.long
@pytest.mark.parametrize("kind", [*_DUMPED, *_CHECKED])
def test_a_correct_workload_has_no_findings(kind: str, tmp_path: Path) -> None:
    bench = native_folder("nearfar_bench") / "nearfar-bench"
    if not bench.exists():
        pytest.skip("nearfar-bench was not built here")
    pool, output = tmp_path / "pool", tmp_path / "crash.json"
    made = subprocess.run([bench, "drive", kind, pool, "0", "1"], capture_output=True, check=False)
    if made.returncode != 0:
        pytest.skip(made.stderr.decode())
    judge = ["--check", f"{bench} check {kind} {{pool}}"]
    if kind in _DUMPED:
        judge = ["--dump", f"{bench} dump {kind} {{pool}}"]
    options = [
        "--states",
        _STATES,
        "--seconds",
        f"{patience(60):.0f}",
        "--timeout",
        f"{patience(30):.0f}s",
        "--pool",
        str(pool),
        "-o",
        str(output),
    ]
    program = [str(bench), "drive", kind, "{pool}", "30", "1"]
    assert main(["crash", "-q", *judge, *options, "--", *program]) == 0
    report = load(output, CrashReport)
    assert report.states > 100
    assert report.lints == []

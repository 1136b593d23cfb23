"""Compiles with nearfar's drivers and runs what comes out, for the tests of pass and drivers."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROGRAMS = Path(__file__).parent / "programs"
KERNELS = ROOT / "benchmarks" / "kernels"
CLASSES = ["opaque", "stream", "indirect", "chase"]


@dataclass
class Site:
    """One site and how many sampled accesses it reported."""

    function: str
    file: str
    line: int
    bytes: int
    operation: int
    access_class: str
    tests_per_line: int
    count: int


def nearfar(
    driver: str, *arguments: str | Path, cwd: Path, code: int | None = 0, **more: object
) -> subprocess.CompletedProcess[str]:
    """Run `nearfar cc` or `nearfar c++` as this Python runs it; expect exit code `code`."""
    environment = {**os.environ, **{k: str(v) for k, v in more.pop("env", {}).items()}}  # type: ignore[attr-defined]
    done = subprocess.run(
        [sys.executable, "-m", "nearfar", driver, *map(str, arguments)],
        cwd=cwd,
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        **more,  # type: ignore[call-overload]
    )
    assert code is None or done.returncode == code, done.stderr
    return done


def run(program: Path, *arguments: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run `program`; return exit code and standard output."""
    done = subprocess.run(
        [str(program), *arguments],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout


def driver_of(source: Path) -> str:
    """Return the driver for a source file."""
    return "c++" if source.suffix == ".cpp" else "cc"

"""Compiles with nearfar's drivers and runs what comes out, for the tests of pass and drivers."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from nearfar.profile.compiler.twin import extract_plain, is_instrumented, plain_environment

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


MAIN = '#include <stdio.h>\nint f(int);\nint main(void) { printf("%d\\n", f(20)); return 0; }\n'
F = "int f(int n) { static int t[100]; for (int i = 0; i < 100; i++) t[i] += i; return t[n]; }\n"


def two_sources(folder: Path) -> Path:
    """Write main.c and f.c, which make a program that prints 20; return the folder."""
    (folder / "main.c").write_text(MAIN)
    (folder / "f.c").write_text(F)
    return folder


def both_run(program: Path, output: str = "20\n") -> Path:
    """Run the program and its plain twin; both print `output`. Return the twin."""
    folder = program.parent / f"plain-{program.name}"
    folder.mkdir()
    plain = extract_plain(program, folder)
    assert plain is not None
    assert is_instrumented(program)
    assert not is_instrumented(plain)
    assert run(program) == (0, output)
    assert run(plain, env=plain_environment(folder)) == (0, output)
    return plain

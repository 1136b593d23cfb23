"""Compiles programs with nearfar's drivers, runs and profiles them."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import forked
import pytest
from patience import patience

from nearfar.__main__ import main
from nearfar.documents import WorkloadProfile, load
from nearfar.native_files import include_folder, native_folder
from nearfar.profile.assemble import assemble
from nearfar.profile.compiler.twin import extract_plain, is_instrumented, plain_environment
from nearfar.profile.session import ProfileRequest, gather_runs
from nearfar.program.launch import Job

ROOT = Path(__file__).parents[3]
PROGRAMS = Path(__file__).parent / "programs"
LANGUAGES = Path(__file__).parent / "languages"
SOURCES = Path(__file__).parent / "kernels"
KERNELS = ROOT / "benchmarks" / "kernels"
CLASSES = ["opaque", "stream", "indirect", "chase"]


@dataclass
class Site:
    """Holds a site and its number of sampled accesses."""

    function: str
    file: str
    line: int
    bytes: int
    operation: int
    access_class: str
    tests_per_line: int
    count: int
    fields: str = ""
    """As the pass wrote them, with ``|`` between columns and ``;`` after lines."""


def nearfar(
    verb: str,
    *arguments: object,
    cwd: Path,
    code: int | None = 0,
    env: Mapping[str, object] | None = None,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Run a verb of nearfar in a process of its own; expect exit code `code`."""
    variables = {**os.environ, **{k: str(v) for k, v in (env or {}).items()}}
    done = forked.nearfar(
        verb, *arguments, cwd=cwd, env={**variables, "PYTHONPATH": str(ROOT)}, timeout=timeout
    )
    assert code is None or done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def needs_pass() -> None:
    """Skip the test if the compiler pass was not built."""
    if not list(native_folder().glob("nearfar_pass-*.so")) or shutil.which("clang-16") is None:
        pytest.skip("the compiler pass was not built here")


def compiled(source: str, folder: Path, *options: object, driver: str = "cc") -> Path:
    """Build a program of `programs` or `kernels` with nearfar's compiler."""
    needs_pass()
    path = next(place / source for place in (PROGRAMS, SOURCES) if (place / source).exists())
    target = folder / path.stem
    include = f"-I{include_folder()}"
    nearfar(driver, "-O2", "-g", include, *options, path, "-o", target, cwd=folder)
    return target


def traced(
    program: Path, folder: Path, *words: object, options: Sequence[object] = ()
) -> WorkloadProfile:
    """Profile one run of `program` with the verb."""
    output = folder / "run.json"
    command = ["--quiet", "--repetitions", 1, *options, "-o", output, "--", program, *words]
    with contextlib.chdir(folder):  # in this process: another takes 0.6 s to start
        assert main(["profile", *map(str, command)]) == 0
    return load(output, WorkloadProfile)


def run(program: Path, *arguments: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run `program`; return exit code and standard output."""
    done = subprocess.run(
        [str(program), *arguments],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=patience(120),
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
    """Run the program and its plain twin, check that both print `output`; return the twin."""
    folder = program.parent / f"plain-{program.name}"
    folder.mkdir()
    plain = extract_plain(program, folder)
    assert plain is not None
    assert is_instrumented(program)
    assert not is_instrumented(plain)
    assert run(program) == (0, output)
    assert run(plain, env=plain_environment(folder)) == (0, output)
    return plain


def profiled(
    program: Path, *words: object, cache_bytes: int, size: dict[str, float], repetitions: int = 1
) -> WorkloadProfile:
    """Profile one run of `program`."""
    request = ProfileRequest(
        job=Job(command=[str(program), *map(str, words)], stdout_to_stderr=True),
        repetitions=repetitions,
        cache_bytes=cache_bytes,
        cache_ways=16,
        cache_origin=f"--llc {cache_bytes}",
        memory_bytes=64 << 20,
        size=size,
    )
    return assemble(request, gather_runs(request, lambda _: None))


def at_sizes(
    program: Path, kernel: str, sizes: Sequence[int], cache_bytes: int
) -> list[WorkloadProfile]:
    """Profile a structure of `growing.c` at each size."""
    return [
        profiled(program, kernel, n, cache_bytes=cache_bytes, size={"n": float(n)}) for n in sizes
    ]

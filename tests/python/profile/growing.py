"""Profiles of one program at several sizes, made in this process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from nearfar.documents import WorkloadProfile
from nearfar.native_files import include_folder, native_folder
from nearfar.profile.assemble import assemble
from nearfar.profile.session import ProfileRequest, gather_runs
from nearfar.program.launch import Job

PROGRAMS = Path(__file__).parent / "programs"


def compiled(source: str, folder: Path, *options: str) -> Path:
    """Build a program of `programs` with nearfar's compiler."""
    if not list(native_folder().glob("nearfar_pass-*.so")) or shutil.which("clang-16") is None:
        pytest.skip("the compiler pass was not built here")
    target = folder / Path(source).stem
    command = [sys.executable, "-m", "nearfar", "cc", "-O2", "-g", *options]
    command += [f"-I{include_folder()}", str(PROGRAMS / source), "-o", str(target)]
    subprocess.run(command, check=True)
    return target


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
    """Profile one of `growing.c`'s structures at each size."""
    return [
        profiled(program, kernel, n, cache_bytes=cache_bytes, size={"n": float(n)}) for n in sizes
    ]

"""Misses in objects that the owner of a program can find in its source.

Each object has a name; it can be found if that is a line of a source file. What is left are
allocators' own memory, the stack, small globals, and memory whose allocation nobody saw. Redis has
the jemalloc that comes with it; the programs in Rust, Fortran and Python are unmodified.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import Row, make_row
from benchmarks.range_programs import (
    FOLDER,
    RangeProgram,
    profile_of,
    programs,
    redis,
    run,
)
from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import Frame

SECONDS = 400
LONG = True

SOURCES = Path(__file__).parents[1] / "owned"
LIBRARIES = ("/rustc/", "/usr/")
"""Begins of the paths of sources that are not the program's own."""
MIN_OWNED = 95.0
"""Share of misses, %, that an owner should be able to act upon."""


BUNDLED_JEMALLOC = ("MALLOC=jemalloc", "REDIS_CFLAGS=-DUSE_SYSTEM_JEMALLOC=1")
"""Debian's zmalloc.h asks whether USE_SYSTEM_JEMALLOC equals `yes`, a word that no build defines:
both are 0 unless the first is a number."""


def rows() -> Iterator[Row]:
    """Profile each program once."""
    for name, make in _programs().items():
        try:
            profile = profile_of(make())
        except RuntimeError as error:
            print(f"owned: no row for {name}: {error}")
            continue
        yield make_row(
            f"misses in objects with a line of the source, {name}",
            100 * owned_share(profile),
            "%",
            bar=MIN_OWNED,
            at_most=False,
            peer="",
            command="make benchmarks ONLY=owned",
        )


def owned_share(profile: WorkloadProfile) -> float:
    """Return the share of the misses in objects with a line of the source; print the others."""
    misses = dict.fromkeys((owner.id for owner in profile.objects), 0.0)
    for phase in profile.phases:
        for row in phase.objects:
            misses[row.object] += row.traffic.misses()
    total = sum(misses.values())
    others = [owner for owner in profile.objects if not any(map(_is_own, owner.frames))]
    for owner in sorted(others, key=lambda owner: -misses[owner.id])[:3]:
        print(f"owned: {misses[owner.id] / total:.1%} in {owner.name} ({owner.kind})")
    return 1.0 - sum(misses[owner.id] for owner in others) / total


def _is_own(frame: Frame) -> bool:
    """Return whether a place is a line of the program's own source."""
    return bool(frame.file and frame.line) and not frame.file.startswith(LIBRARIES)


def _programs() -> dict[str, Callable[[], RangeProgram]]:
    return {
        "Redis with its own jemalloc": lambda: redis("Redis jemalloc", *BUNDLED_JEMALLOC),
        "memcached": programs()["memcached"],
        "Rust": _rust,
        "Fortran": _fortran,
        "Python": lambda: _python("Python"),
        "Python with PYTHONMALLOC=malloc": lambda: _python("Python malloc", PYTHONMALLOC="malloc"),
    }


def _python(name: str, **environment: str) -> RangeProgram:
    command = [sys.executable, str(SOURCES / "tables.py")]
    return RangeProgram(name, command, environment=environment)


def _rust() -> RangeProgram:
    if shutil.which("rustc") is None:
        raise RuntimeError("rustc is not installed")
    program = FOLDER / "owned-rust"
    # Line tables, as `nearfar cargo` adds where rustc is newer than clang.
    run(["rustc", "-O", "-g", str(SOURCES / "orders.rs"), "-o", str(program)])
    return RangeProgram("Rust", [str(program.resolve())])


def _fortran() -> RangeProgram:
    program = FOLDER / "owned-fortran"
    run(
        [
            *_gfortran(),
            "-O2",
            "-g",
            f"-J{FOLDER}",
            str(SOURCES / "sparse.f90"),
            "-o",
            str(program),
        ]
    )
    return RangeProgram("Fortran", [str(program.resolve())])


def _gfortran() -> list[str]:
    """Return the command of gfortran; its packages are unpacked, not installed."""
    if shutil.which("gfortran"):
        return ["gfortran"]
    folder = (FOLDER / "gfortran").resolve()
    if not (folder / "usr").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        names = ("gfortran-12", "libgfortran-12-dev", "libgfortran5", "libquadmath0")
        run(["apt-get", "-q", "download", *names], cwd=folder)
        for package in folder.glob("*.deb"):
            run(["dpkg-deb", "-x", str(package), str(folder)])
    libraries = folder / "usr/lib/x86_64-linux-gnu"
    gcc = "usr/lib/gcc/x86_64-linux-gnu/12"
    own = folder / gcc
    return [
        str(folder / "usr/bin/x86_64-linux-gnu-gfortran-12"),
        *(f"-B{own}", f"-L{own}", f"-L{libraries}", f"-Wl,-rpath,{libraries}"),
        *(f"-B/{gcc}", f"-L/{gcc}"),  # of gcc, which is installed
    ]

"""Unmodified programs under QEMU: their misses against compiled-in code, and their time.

Both sides simulate the same last-level cache from one line of every page; the same compiler builds
the unmodified program at the same level. Counts and times are of the kernel phase; times are CPU
time, of loads that no cache holds, right after a plain run. Their peer is QEMU alone, without a
plugin: what no way of counting under it can beat.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Row, geometric_mean, make_row
from benchmarks.kernel_runs import BUILD, SOURCES, build, kernel_seconds
from benchmarks.rows.tracing import LOADS as LARGE_LOADS
from benchmarks.rows.tracing_accuracy import CACHE, LOADS, WAYS
from nearfar.native_files import include_folder
from nearfar.profile.compiler.toolchain import find_toolchain
from nearfar.profile.sources import qemu_user

SECONDS = 50
COMPUTES = True

KERNEL_S = re.compile(r"kernel_cpu_s (\S+)")
"""Line in which kernels print their phase's CPU time."""
COMMAND = "make benchmarks ONLY=qemu"
LARGE_SHARE = 0.01
"""Minimum share of all misses: objects with less are noise to the profile's reader."""


def build_unmodified(name: str) -> Path:
    """Compile a kernel with the options of nearfar's compilers, but without them."""
    (source,) = (path for path in SOURCES.glob(f"{name}.c*"))
    folder = BUILD / "unmodified"
    folder.mkdir(parents=True, exist_ok=True)
    clang = find_toolchain("clang", os.environ).clang
    command = [clang, *(["--driver-mode=g++"] if source.suffix == ".cpp" else []), "-O2"]
    command += ["-gline-tables-only"]  # as nearfar cc adds, so that objects have the same names
    command += [f"-I{include_folder()}", str(source), "-o", str(folder / name)]
    subprocess.run(command, check=True)
    return (folder / name).resolve()


def profiled(program: Path, load: tuple[int, int], source: str, output: Path) -> str:
    """Profile a kernel after one plain run; return what both printed to standard error."""
    command = [sys.executable, "-m", "nearfar", "profile", "--quiet", "-o", str(output)]
    command += ["--source", source, "--repetitions", "1"]
    command += ["--sample", "10min"] if source == "qemu" else []
    command += ["--llc", CACHE, "--ways", str(WAYS), "--", str(program)]
    words = [*command, *map(str, load)]
    return subprocess.run(words, check=True, capture_output=True, text=True).stderr


def misses_by_object(program: Path, load: tuple[int, int], source: str) -> dict[str, float]:
    """Return the last-level misses of each object in a kernel's phase."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run.json"
        profiled(program, load, source, output)
        profile = json.loads(output.read_text())
    phase = next(phase for phase in profile["phases"] if phase["name"] == "kernel")
    misses: dict[str, float] = {}
    for entry in phase["objects"]:
        traffic = entry["traffic"]
        result = sum(traffic["read_misses"].values()) + sum(traffic["write_misses"].values())
        misses[profile["objects"][entry["object"]]["name"]] = result
    return misses


def worst_difference(ours: dict[str, float], theirs: dict[str, float]) -> float:
    """Return the largest relative difference of an object that is large on either side."""
    total = sum(theirs.values())
    names = {n for side in (ours, theirs) for n, m in side.items() if m > LARGE_SHARE * total}
    return max(
        abs(ours.get(name, 0.0) - theirs.get(name, 0.0)) / max(theirs.get(name, 0.0), 1.0)
        for name in names
    )


def slowdowns_of(program: Path, load: tuple[int, int]) -> tuple[float, float]:
    """Return the CPU time of a kernel's phase over that of the plain run before it.

    Under QEMU as nearfar runs it, and under QEMU alone right after.
    """
    with tempfile.TemporaryDirectory() as folder:
        printed = profiled(program, load, "qemu", Path(folder) / "run.json")
    plain_s, emulated_s = (float(text) for text in KERNEL_S.findall(printed))
    alone = [qemu_user.NAME, "-cpu", "max", str(program), *map(str, load)]
    return emulated_s / plain_s, kernel_seconds(alone) / plain_s


def rows() -> Iterator[Row]:
    """Yield one row per kernel: the worst object; then the times."""
    for name, load in LOADS.items():
        compiled = misses_by_object(build(name).traced, load, "compiled")
        unmodified = misses_by_object(build_unmodified(name), load, "qemu")
        worst = worst_difference(unmodified, compiled)
        yield make_row(
            f"misses per object, unmodified under QEMU, {name}, worst",
            100 * worst,
            "% difference",
            bar=5,
            peer="compiled in by nearfar cc, same cache",
            command=COMMAND,
        )
    slowdowns = {
        name: slowdowns_of(build_unmodified(name), LARGE_LOADS[name].ours)
        for name in LOADS
        if LARGE_LOADS[name].memory_bound
    }
    worst_name = max(slowdowns, key=lambda name: slowdowns[name])
    ours, alone = zip(*slowdowns.values(), strict=True)
    for which, value, peer in (
        ("geometric mean", geometric_mean(ours), geometric_mean(alone)),
        (f"worst ({worst_name})", *slowdowns[worst_name]),
    ):
        yield make_row(
            f"time under QEMU, {len(slowdowns)} memory-bound kernels, {which}",
            value,
            "x plain",
            bar=12,
            peer="QEMU alone",
            peer_value=peer,
            command=COMMAND,
        )

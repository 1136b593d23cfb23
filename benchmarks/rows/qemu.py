"""Misses of unmodified programs under QEMU compared with those of compiled-in code.

Both sides simulate the same last-level cache from one line of every page; the same compiler builds
the unmodified program at the same level. Counts are of the kernel phase.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Row, make_row
from benchmarks.kernel_runs import BUILD, SOURCES, build
from benchmarks.rows.tracing_accuracy import CACHE, LOADS, WAYS
from nearfar.native_files import include_folder
from nearfar.profile.compiler.toolchain import find_toolchain

SECONDS = 120
COMPUTES = True

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


def misses_by_object(program: Path, load: tuple[int, int], source: str) -> dict[str, float]:
    """Profile a kernel and return the last-level misses of each object in its kernel phase."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run.json"
        command = [sys.executable, "-m", "nearfar", "profile", "--quiet", "-o", str(output)]
        command += ["--source", source, "--repetitions", "1"]
        command += ["--sample", "10min"] if source == "qemu" else []
        command += ["--llc", CACHE, "--ways", str(WAYS), "--", str(program)]
        subprocess.run([*command, *map(str, load)], check=True, capture_output=True)
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


def rows() -> Iterator[Row]:
    """Yield one row per kernel: the worst object."""
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
            command="make benchmarks ONLY=qemu",
        )

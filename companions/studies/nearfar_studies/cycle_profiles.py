"""Profiles of the cycle-level reference's kernels: the reference's compiler, nearfar's counts.

`reference/kernels.c` is built as the runs' programs were (`gcc -O2`), with the
simulator's marks replaced by nearfar's; functions between the marks have the same instructions. It
is not linked statically, because nearfar's marks and allocations come from a preloaded library.
Each program then runs unmodified under QEMU, every line is counted with the simulated machine's
last-level cache, and bursts are recorded.

A run of the reference simulates a number of instructions from MARK(2) on, not all up to MARK(3).
The profile ends there too (`--sample-instructions`). The reference counts an instruction that loads
and computes as two, so a first short profile gives the share of such instructions.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.documents import WorkloadProfile, load
from nearfar.native_files import include_folder
from nearfar.profile.bursts.trace import computes_what_it_loads

REGION = "roi"
"""The phase between the marks between which the simulator measured."""

SIMULATOR_MARK = re.compile(r"^#define MARK\(n\).*$", re.MULTILINE)
OUR_MARKS = f"""#include <nearfar/mark.h>
#define MARK(n) MARK_##n
#define MARK_1 ((void)0)
#define MARK_2 NEARFAR_BEGIN("{REGION}")
#define MARK_3 NEARFAR_END("{REGION}", 0)"""
"""Each kernel: build, MARK(1), warm, MARK(2), measured region, MARK(3)."""

COMPILER = ("gcc", "-O2")
"""Compiler and options, from the reference's README."""

CACHE = ("--llc", "2MiB", "--ways", "16")
"""The reference's last-level cache, from its README; with nearfar's default number of ways."""

EVERY_LINE = ("--rate", "1")
FEW_LINES = ("--rate", "4096")
"""Sampling of the first profile, of which only the executed code is used."""


@lru_cache(maxsize=2)
def profiles(source: Path, kernels: tuple[str, ...]) -> dict[str, WorkloadProfile]:
    """Return the profile of every kernel by name; each is kept while the process runs.

    `source` is next to the reference's runs, which give the number of simulated instructions; for a
    kernel without runs, all instructions up to MARK(3) are counted. Raises NearfarError if the
    compiler or QEMU cannot run.
    """
    windows = _windows(source.with_name("cycle-level.json"))
    with tempfile.TemporaryDirectory(prefix="nearfar-cycle-level-") as name:
        folder = Path(name)
        program = build(source, folder)
        # Nothing is timed, so several run at once.
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            made = pool.map(lambda k: profile(program, k, windows.get(k), folder), kernels)
            return dict(zip(kernels, made, strict=True))


def build(source: Path, folder: Path) -> Path:
    """Build the kernels with nearfar's marks and return the program."""
    text, marks = SIMULATOR_MARK.subn(OUR_MARKS, source.read_text(), count=1)
    if not marks:
        raise NearfarError(f"{source.name} defines no MARK(n): it is not the kernels' source")
    if shutil.which(COMPILER[0]) is None:
        raise NearfarError(
            f"the cycle-level kernels are built by {COMPILER[0]}, which is not installed: "
            f"apt-get install {COMPILER[0]}",
            ExitCode.MACHINE_LACKS,
        )
    copy, program = folder / source.name, folder / "kernels"
    copy.write_text(text)
    _run([*COMPILER, f"-I{include_folder()}", str(copy), "-o", str(program)])
    return program


def profile(program: Path, kernel: str, simulated: int | None, folder: Path) -> WorkloadProfile:
    """Profile one kernel's first `simulated` instructions in the reference's counting, or all."""
    if simulated is None:
        return _profile(program, kernel, None, EVERY_LINE, folder)
    first = _profile(program, kernel, simulated, FEW_LINES, folder)
    window = round(simulated / (1.0 + computing_loads(first)))
    return _profile(program, kernel, window, EVERY_LINE, folder)


def computing_loads(profiled: WorkloadProfile) -> float:
    """Return the share of instructions in the region's bursts that load and compute.

    0 without bursts, whose absence the profile's warnings report.
    """
    bursts = profiled.bursts
    phases = [] if bursts is None else [p for p in bursts.phases if p.phase == REGION]
    if bursts is None or not phases:
        return 0.0
    computing = [computes_what_it_loads(bursts, code) for code in bursts.code]
    instructions = both = 0
    for number in (number for burst in phases[0].bursts for number in burst.blocks):
        block = bursts.blocks[number]
        instructions += block.count
        both += sum(computing[block.first : block.first + block.count])
    return both / max(1, instructions)


def _windows(runs: Path) -> dict[str, int]:
    """Return the number of simulated instructions by kernel."""
    if not runs.is_file():
        return {}
    reference = json.loads(runs.read_text())
    field = reference["run_fields"].index("instr")
    return {name: levels["base"][field] for name, levels in reference["runs"]["nopf"].items()}


def _profile(
    program: Path, kernel: str, instructions: int | None, rate: Sequence[str], folder: Path
) -> WorkloadProfile:
    """Profile one kernel; its time here is not used, so it runs once."""
    path = folder / f"{kernel}-{instructions}.json"
    how = ["--source", "qemu", *rate, *CACHE, "--bursts", "--repetitions", "1", "--quiet"]
    window = [] if instructions is None else ["--sample-instructions", str(instructions)]
    command = ["-o", str(path), "--", str(program), kernel]
    _run([sys.executable, "-m", "nearfar", "profile", *how, *window, *command])
    return load(path, WorkloadProfile)


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        message = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise NearfarError(
            f"the cycle-level kernels cannot be profiled here: {message}", ExitCode.MACHINE_LACKS
        )

"""Profiles of the cycle-level reference's kernels, made by nearfar's own compiler and verb.

The kernels' source is `reference/kernels.c`. A copy with its marks of the simulator turned
into nearfar's is built in a folder of its own, and every kernel is profiled with the simulated
machine's last-level cache.
"""

from __future__ import annotations

import os
import re
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
from nearfar.profile.merge import merge

REGION = "roi"
"""The phase between the marks that the simulator measured between."""

SIMULATOR_MARK = re.compile(r"^#define MARK\(n\).*$", re.MULTILINE)
OUR_MARKS = f"""#include <nearfar/mark.h>
#define MARK(n) MARK_##n
#define MARK_1 ((void)0)
#define MARK_2 NEARFAR_BEGIN("{REGION}")
#define MARK_3 NEARFAR_END("{REGION}", 0)"""
"""Each kernel: build, MARK(1), warm, MARK(2), measured region, MARK(3)."""

RUNS = 3
"""Profiles of a kernel that are added up. Hits of a search are mostly on a few lines, its roots,
which a run samples or does not, by the luck of their addresses: single runs of one kernel counted
from 170,000 to 490,000 of them."""

CACHE = ("--llc", "2MiB", "--ways", "16")
"""The reference's last level, as its README states it; ways as nearfar simulates by default."""


@lru_cache(maxsize=2)
def profiles(source: Path, kernels: tuple[str, ...]) -> dict[str, WorkloadProfile]:
    """Return the profile of every kernel by name; each is kept as long as the process runs.

    Raises NearfarError where nearfar's compiler cannot run.
    """
    with tempfile.TemporaryDirectory(prefix="nearfar-cycle-level-") as name:
        folder = Path(name)
        program = build(source, folder)
        # Nothing is timed, so several run at once.
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            made = pool.map(lambda kernel: profile(program, kernel, folder), kernels)
            return dict(zip(kernels, made, strict=True))


def build(source: Path, folder: Path) -> Path:
    """Build the kernels with nearfar's marks and return the program."""
    text, marks = SIMULATOR_MARK.subn(OUR_MARKS, source.read_text(), count=1)
    if not marks:
        raise NearfarError(f"{source.name} defines no MARK(n): it is not the kernels' source")
    copy, program = folder / source.name, folder / "kernels"
    copy.write_text(text)
    _nearfar(["cc", "-O2", f"-I{include_folder()}", str(copy), "-o", str(program)])
    return program


def profile(program: Path, kernel: str, folder: Path) -> WorkloadProfile:
    """Profile one kernel `RUNS` times; its time here is not used, so each runs once."""
    outputs = [folder / f"{kernel}-{number}.json" for number in range(RUNS)]
    for number, path in enumerate(outputs):
        run = ["--repetitions", "1", "--quiet", "-o", str(path), "--", str(program), kernel]
        # Bursts of one run are enough for the window model: they are not added up.
        _nearfar(["profile", *CACHE, *(["--bursts"] if number == 0 else []), *run])
    return merge([load(path, WorkloadProfile) for path in outputs], [path.name for path in outputs])


def _nearfar(arguments: Sequence[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nearfar", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        message = next(iter(done.stderr.strip().splitlines()), "no message")
        raise NearfarError(
            f"the cycle-level kernels cannot be profiled here: {message}", ExitCode.MACHINE_LACKS
        )

"""Profiles of the cycle-level reference's kernels, made by nearfar's own compiler and verb.

The kernels' source is shared beside the repository. A copy with its marks of the simulator turned
into nearfar's is built in a folder of its own, and every kernel is profiled with the simulated
machine's last-level cache.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.documents import WorkloadProfile, load
from nearfar.native_files import include_folder

REGION = "roi"
"""The phase between the marks that the simulator measured between."""

SIMULATOR_MARK = re.compile(r"^#define MARK\(n\).*$", re.MULTILINE)
OUR_MARKS = f"""#include <nearfar/mark.h>
#define MARK(n) MARK_##n
#define MARK_1 ((void)0)
#define MARK_2 NEARFAR_BEGIN("{REGION}")
#define MARK_3 NEARFAR_END("{REGION}", 0)"""
"""Each kernel: build, MARK(1), warm, MARK(2), measured region, MARK(3)."""

CACHE = ("--llc", "2MiB", "--ways", "16")
"""The reference's last level, as its README states it; ways as nearfar simulates by default."""


@lru_cache(maxsize=2)
def profiles(source: Path, kernels: tuple[str, ...]) -> dict[str, WorkloadProfile]:
    """Return the profile of every kernel by name; each is kept as long as the process runs.

    Raises NearfarError where the source is absent or nearfar's compiler cannot run.
    """
    if not source.is_file():
        raise NearfarError(
            f"the cycle-level kernels are not here ({source.name} is shared beside the repository, "
            "in shared/reference/cycle-level)",
            ExitCode.MACHINE_LACKS,
        )
    with tempfile.TemporaryDirectory(prefix="nearfar-cycle-level-") as name:
        folder = Path(name)
        program = build(source, folder)
        return {kernel: profile(program, kernel, folder) for kernel in kernels}


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
    """Run one kernel under `nearfar profile`; its time here is not used, so it runs once."""
    found = folder / f"{kernel}.json"
    run = ["--bursts", "--repetitions", "1", "--quiet", "-o", str(found)]
    _nearfar(["profile", *CACHE, *run, "--", str(program), kernel])
    return load(found, WorkloadProfile)


def _nearfar(arguments: Sequence[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nearfar", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        said = next(iter(done.stderr.strip().splitlines()), "no message")
        raise NearfarError(
            f"the cycle-level kernels cannot be profiled here: {said}", ExitCode.MACHINE_LACKS
        )

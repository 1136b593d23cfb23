"""X-Mem's three kinds of program as small ones of our own: built, profiled, taken to its machine.

What is measured is measured here: misses by instrumented runs, near time by plain ones. Near time
on X-Mem's machine is predicted from it (`nearfar predict --here`), its caches are taken to be ours.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.documents import DeviceProfile, WorkloadProfile, load
from nearfar.native_files import include_folder
from nearfar.predict.elsewhere import elsewhere

SOURCES = Path(__file__).parent / "programs" / "x_mem"

PHASE = "work"
"""What of a program counts; making its data does not."""

MEASURED = ("--only", "idle,chains,bandwidth", "--quick", "--seconds", "5", "--no-samples")
"""Of this machine's memory: what near time is explained by."""


@dataclass(frozen=True)
class Program:
    """One of the three."""

    name: str
    kind: str
    arguments: tuple[str, ...]
    """How many things, how much work: 150 to 250 MB, about a second."""


GRAPH = Program("graph", "graph analytics", ("4194304", "1"))
INDEX = Program("index", "transactional index", ("1048576", "262144"))
CACHE = Program("cache", "key-value cache", ("524288", "1048576"))


def profiles(near: DeviceProfile) -> dict[str, WorkloadProfile]:
    """Return each program's profile as on a machine whose near memory is `near`, by its name.

    This machine's memory is measured first. Raises NearfarError with `MACHINE_LACKS` where nothing
    can be compiled or profiled.
    """
    with tempfile.TemporaryDirectory(prefix="nearfar-x-mem-") as name:
        folder = Path(name)
        here = folder / "here.json"
        _nearfar("measure", "dram", *MEASURED, "--quiet", "-o", str(here))
        measured = load(here, DeviceProfile)
        found = {}
        for program in (GRAPH, INDEX, CACHE):
            workload = _profile(program, folder, here)
            found[program.name] = elsewhere(workload, near, here=measured)
    return found


def _profile(program: Program, folder: Path, here: Path) -> WorkloadProfile:
    built, output = folder / program.name, folder / f"{program.name}.json"
    source = SOURCES / f"{program.name}.cpp"
    options = ["-std=c++20", "-O2", "-pthread", f"-I{include_folder()}"]
    _nearfar("c++", *options, str(source), "-o", str(built))
    options = ["--quiet", "--near", str(here), "--repetitions", "3", "-o", str(output)]
    _nearfar("profile", *options, "--", str(built), *program.arguments)
    return load(output, WorkloadProfile)


def _nearfar(*words: str) -> None:
    command: Sequence[str] = [sys.executable, "-m", "nearfar", *words]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        said = last.removeprefix("nearfar: ")
        raise NearfarError(f"nearfar {words[0]} failed: {said}", ExitCode.MACHINE_LACKS)

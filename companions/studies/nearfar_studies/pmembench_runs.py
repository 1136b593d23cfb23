"""nearfar-bench's hash map, built by `nearfar c++` and profiled in a pool in DRAM here."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.documents import DeviceProfile, WorkloadProfile, load
from nearfar_bench.memories import FORCE, TMPFS
from nearfar_studies.applications import MEASURED, nearfar

ROOT = Path(__file__).parents[3]
NATIVE = ROOT / "companions/bench/native"
INCLUDE = ROOT / "include"
MAP_FILES = ("map", "map_kind", "map_workload", "hash_chained")
NOT_OF_IT = ("count_preload",)
PHASE = "timed"
"""The phase that nearfar-bench marks, without set-up and verification."""


class PmembenchRuns:
    """The program and the near memory, in a temporary folder."""

    def __init__(self, near: Path | None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="nearfar-pmembench-")
        self._here = Path(self._folder.name)
        self._program = _build(self._here)
        if near is None:
            near = self._here / "near.json"
            _nearfar("measure", "dram", *MEASURED, "--quiet", "-o", str(near))
        self.near = load(near, DeviceProfile)

    def __enter__(self) -> PmembenchRuns:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def profile(self, operation: str, n: int, element_bytes: int) -> WorkloadProfile:
        """Profile `n` operations on hash-atomic, which stores its elements separately."""
        output = self._here / "profile.json"
        with tempfile.TemporaryDirectory(prefix="nearfar-pmembench-", dir=TMPFS) as pool:
            words = [f"operation={operation}", f"n={n}", f"element={element_bytes}"]
            words += ["map=hash-atomic", "memory=pool", f"pool={pool}/pool"]
            command = ["profile", "--repetitions", "3", "-q", "-o", str(output), "--"]
            _nearfar(*command, str(self._program), "run", "map", *words)
        return load(output, WorkloadProfile)


def _build(folder: Path) -> Path:
    """Compile the executable with the maps' sources; they are in the repository only."""
    core = NATIVE / "bench"
    if not core.is_dir():
        raise NearfarError(
            f"{core} is not there: this study compiles nearfar-bench from nearfar's own sources",
            ExitCode.MACHINE_LACKS,
        )
    if not Path("/usr/include/libpmemobj.h").exists():
        raise NearfarError(
            "libpmemobj-dev is not installed, and the map lives in a pool of it",
            ExitCode.MACHINE_LACKS,
        )
    sources = [path for path in sorted(core.glob("*.cpp")) if path.stem not in NOT_OF_IT]
    sources += [core / "maps" / f"{name}.cpp" for name in MAP_FILES]
    program = folder / "nearfar-bench"
    options = ["-O2", "-std=c++20", "-pthread", "-DNEARFAR_HAVE_PMEM"]
    options += [f"-I{NATIVE}", f"-I{ROOT / 'native'}", f"-I{INCLUDE}", "-lpmemobj", "-lpmem"]
    _nearfar("c++", *map(str, sources), *options, "-o", str(program))
    return program


def _nearfar(*words: str) -> None:
    nearfar(*words, environment={**os.environ, FORCE: "1"})

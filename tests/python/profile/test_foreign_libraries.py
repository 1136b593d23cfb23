"""What libraries that are not instrumented do by memcpy and its like."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nearfar.documents import WorkloadProfile, load
from nearfar.native_files import include_folder, native_folder

KERNELS = Path(__file__).parent / "kernels"
NEARFAR = [sys.executable, "-m", "nearfar"]


def test_strings_that_the_cxx_library_copies_are_counted(tmp_path: Path) -> None:
    if not list(native_folder().glob("nearfar_pass-*.so")):
        pytest.skip("the compiler pass was not built here")
    source = KERNELS / "library_strings.cpp"
    command = [*NEARFAR, "c++", "-O2", "-g", f"-I{include_folder()}", source, "-o", "program"]
    subprocess.run([str(word) for word in command], cwd=tmp_path, check=True)
    words = ["--repetitions", "1", "--llc", "1MiB", "--ways", "16", "--", "./program"]
    answer = subprocess.run(
        [*NEARFAR, "profile", "-q", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == 2 * "24000000\n"
    profile = load(tmp_path / "run.json", WorkloadProfile)
    (phase,) = [phase for phase in profile.phases if phase.name == "copy"]
    names = {thing.id: thing.name for thing in profile.objects}
    read = sum(
        row.traffic.read_misses.opaque
        for row in phase.objects
        if "main library_strings.cpp" in names[row.object]
    )
    # 60 of every 80 bytes that begin at multiples of 16 lie in 1.75 lines; 1 of the 10.7 MB that
    # strings and their heads take is in the cache.
    assert read == pytest.approx(400_000 * 1.75 * 0.9, rel=0.1)

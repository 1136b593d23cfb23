"""Programs that treat their pool in odd ways: each is explored, and what must be said is said."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from nearfar.__main__ import main
from nearfar.documents.crash_report import CrashReport
from nearfar.documents.header import load

_FOLDER = tempfile.TemporaryDirectory(prefix="nearfar-odd-")


@functools.cache
def built() -> Path:
    if shutil.which("cc") is None or not Path("/usr/include/libpmem.h").exists():
        pytest.skip("no C compiler or no libpmem-dev here: run `scripts/setup.sh test`")
    program = Path(_FOLDER.name) / "odd"
    source = Path(__file__).with_name("crash_odd.c")
    subprocess.run(["cc", "-O1", "-g", "-o", program, source, "-lpmem", "-lpthread"], check=True)
    return program


@pytest.mark.parametrize(
    ("way", "bugs", "said"),
    [
        ("large", 0, ""),
        ("ends-in-the-middle", 0, ""),
        ("crashes", 0, "was killed by SIGSEGV"),
        ("never-flushes", 1, "no fence was seen"),
        ("maps-twice", 0, ""),
        ("maps-elsewhere", 0, ""),
        ("remaps", 0, ""),
        ("writes", 0, "by system calls"),
        ("writes-without-fsync", 1, "by system calls"),
        ("forks", 0, "its children's stores count"),
        ("forks-without-flush", 1, "its children's stores count"),
        ("execs", 0, "several processes had the pool at once"),
        ("reads-into", 0, ""),
        ("reads-by-stdio", 0, ""),
        ("blocks-signals", 0, ""),
        ("writes-after-unmapping", 0, "written by no recorded store"),
        ("stores-wide", 1, ""),
        ("swaps-wide", 0, ""),
        ("fences-for-another", 1, "waited for another"),
    ],
)
def test_a_program_that_is_odd(way: str, bugs: int, said: str, tmp_path: Path) -> None:
    program = str(built())
    output = tmp_path / "crash.json"
    check = f"{program} {{pool}} check"
    # Generous, so that a busy machine changes nothing.
    patience = ["--seconds", "200", "--timeout", "100s"]
    words = ["crash", "-q", "--check", check, *patience, "-o", str(output)]
    assert main([*words, "--", program, "{pool}", way]) == (1 if bugs else 0)
    report = load(output, CrashReport)
    assert len(report.bugs) == bugs
    assert report.complete
    assert said in " ".join(report.warnings)
    if not said:
        assert not report.warnings

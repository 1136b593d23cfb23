"""Compiles and explores the test programs of `crash`."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from patience import patience

from nearfar.__main__ import main
from nearfar.documents.crash_report import CrashReport
from nearfar.documents.header import load
from nearfar.native_files import include_folder

PITFALLS = Path(__file__).parents[3] / "examples" / "pitfalls"

_FOLDER = tempfile.TemporaryDirectory(prefix="nearfar-crash-tests-")
"""Removed at the end of the tests."""


def explore(folder: Path, check: str, program: list[str], *options: str) -> CrashReport:
    """Run `nearfar crash` with limits generous enough for busy machines and load its report."""
    output = folder / "crash.json"
    limits = ["--seconds", f"{patience(200):.0f}"]
    limits += [] if "--timeout" in options else ["--timeout", f"{patience(100):.0f}s"]
    words = ["crash", "-q", "--check", check, *limits, "-o", str(output), *options]
    code = main([*words, "--", *program])
    report = load(output, CrashReport)
    assert code == (1 if report.bugs else 0 if report.complete and not report.undecided else 5)
    return report


@functools.cache
def built(name: str, *flags: str) -> Path:
    """Return the compiled ``NAME.c`` of this folder; skips where libpmem is absent."""
    if shutil.which("cc") is None or not Path("/usr/include/libpmem.h").exists():
        pytest.skip("no C compiler or no libpmem-dev: run `scripts/setup.sh test`")
    program = Path(_FOLDER.name) / re.sub(r"[^-.\w]", "", f"{name}{''.join(flags)}")
    source = Path(__file__).with_name(f"{name}.c")
    common = ["cc", "-O1", "-g", f"-I{include_folder()}", "-o", program, source]
    subprocess.run([*common, *flags, "-lpmem", "-lpthread"], check=True)
    return program


@functools.cache
def compiled(name: str, *, compiler: tuple[str, ...] = ("cc",)) -> Path:
    """Return the compiled ``examples/pitfalls/NAME.c``; skips where libpmem is absent."""
    source = PITFALLS / f"{name}.c"
    text = source.read_text()
    libraries = []
    if '"log.h"' in text:
        libraries = ["-lpmem"]
    elif '"list.h"' in text:
        libraries = ["-lpmemobj", "-lpmem"]
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    for library in libraries:
        name_of_package = f"lib{library[2:]}"
        if not Path(f"/usr/include/{name_of_package}.h").exists():
            pytest.skip(f"{name_of_package}-dev is not installed: run `scripts/setup.sh test`")
    program = Path(_FOLDER.name) / name
    # Each store has its own stack, and the caller of a persist is on it.
    flags = ["-O1", "-g", "-fno-optimize-sibling-calls"]
    subprocess.run([*compiler, *flags, "-o", program, source, *libraries], check=True)
    return program

"""Compiles the pitfalls, and says why where that cannot be."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

PITFALLS = Path(__file__).parents[3] / "examples" / "pitfalls"


def compiled(name: str, folder: Path, *, compiler: tuple[str, ...] = ("cc",)) -> Path:
    """Return the compiled ``examples/pitfalls/NAME.c``; skips where libpmem is absent."""
    source = PITFALLS / f"{name}.c"
    needs_libpmem = "log.h" in source.read_text()
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    if needs_libpmem and not Path("/usr/include/libpmem.h").exists():
        pytest.skip("libpmem-dev is not installed: run `make setup`")
    program = folder / name
    libraries = ["-lpmem"] if needs_libpmem else []
    # One place per store, and the caller of a persist is on the stack.
    flags = ["-O1", "-g", "-fno-optimize-sibling-calls"]
    subprocess.run([*compiler, *flags, "-o", program, source, *libraries], check=True)
    return program

"""Compiles the pitfalls, and says why where that cannot be."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

PITFALLS = Path(__file__).parents[3] / "examples" / "pitfalls"


_FOLDER = tempfile.TemporaryDirectory(prefix="nearfar-pitfalls-")
"""Gone when the tests are."""


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
    # One place per store, and the caller of a persist is on the stack.
    flags = ["-O1", "-g", "-fno-optimize-sibling-calls"]
    subprocess.run([*compiler, *flags, "-o", program, source, *libraries], check=True)
    return program

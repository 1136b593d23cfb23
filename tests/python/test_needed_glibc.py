"""Built libraries and programs need glibc 2.34 at most, as the name of the wheel says."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nearfar.native_files import native_folder

NEWEST = (2, 34)
"""RHEL 9 has it; docs/limits.md and the workflow of wheels name it."""
BUILT_ON = (2, 36)
"""The glibc of Debian 12, where wheels are built. A newer one gives some names newer versions."""

pytestmark = pytest.mark.skipif(
    shutil.which("objdump") is None, reason="objdump is not installed: run `scripts/setup.sh test`"
)


def built_files(package: str) -> list[Path]:
    folder = native_folder(package)
    files = [*folder.iterdir(), *folder.parent.glob("*.so")]
    return [file for file in files if file.is_file() and file.read_bytes()[:4] == b"\x7fELF"]


def too_new(file: Path) -> Iterator[str]:
    """Yield each symbol that `file` needs of a glibc after `NEWEST`."""
    words = ["objdump", "-T", str(file)]
    symbols = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    for line in symbols.splitlines():
        found = re.search(r"\*UND\*.*GLIBC_(\d+)\.(\d+)[\d.]*\)?\s+(\S+)$", line)
        if found and (int(found[1]), int(found[2])) > NEWEST:
            yield f"{file.name} needs {found[3]} of glibc {found[1]}.{found[2]}"


@pytest.mark.parametrize(("package", "least"), [("nearfar", 14), ("nearfar_bench", 2)])
def test_what_is_built_needs_no_newer_glibc(package: str, least: int) -> None:
    library, version = platform.libc_ver()
    if library != "glibc" or tuple(map(int, version.split("."))) > BUILT_ON:
        pytest.skip(f"built for {library} {version} here; wheels are built on Debian 12")
    files = built_files(package)
    assert len(files) >= least
    assert [needed for file in files for needed in too_new(file)] == []


def test_a_newer_symbol_is_named(tmp_path: Path) -> None:
    if shutil.which("cc") is None or "arc4random" not in Path("/usr/include/stdlib.h").read_text():
        pytest.skip("needs a C compiler and glibc 2.36")
    source, program = tmp_path / "draws.c", tmp_path / "draws"
    source.write_text("#include <stdlib.h>\nint main(void) { return arc4random() == 0; }\n")
    subprocess.run(["cc", "-D_DEFAULT_SOURCE", source, "-o", program], check=True)
    assert list(too_new(program)) == ["draws needs arc4random of glibc 2.36"]

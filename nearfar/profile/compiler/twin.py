"""An executable's plain twin, its compiler, and notes on code that is not instrumented."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from nearfar.profile.compiler import elf, plain


def is_instrumented(executable: Path) -> bool:
    """Return whether any code in `executable` itself was instrumented."""
    return any(line[0] == "compiled" for line in _note(executable))


def compiler_text(executable: Path) -> str:
    """Return the program's compiler, such as "clang 16 -O2"; several are joined by ", "."""
    seen = [line[2] for line in _note(executable) if line[0] == "compiled" and len(line) > 2]
    return ", ".join(dict.fromkeys(seen))


def notes(executable: Path) -> list[str]:
    """Return a sentence for each part that is not instrumented or missing in the plain twin."""
    result: list[str] = []
    for words in [*_note(executable), *_link_note(executable)]:
        match words:
            case ["skipped", function, file, why, *_]:
                result.append(f"{function} in {file} {why}")
            case ["assembly", file, *_]:
                result.append(f"{file} is assembly and was not instrumented")
            case ["foreign", file, what, *_]:
                result.append(f"{file} was not compiled by nearfar ({what})")
            case ["lto" | "no-plain", text, *_]:
                result.append(text)
    return list(dict.fromkeys(result))


def extract_plain(executable: Path, folder: Path) -> Path | None:
    """Write `executable`'s plain twin into `folder` and return its path; None if it has none.

    The twins of instrumented shared libraries it loads are written there too: run it with
    `plain_environment(folder)`.
    """
    twins = plain.twins_of(str(executable))
    if not twins:
        return None
    target = _write(folder / executable.name, twins[0])
    for name, path in _libraries(executable).items():
        if library := plain.twins_of(path):
            _write(folder / name, library[0])
    return target


def plain_environment(folder: Path) -> dict[str, str]:
    """Return this process's environment with `folder` first in the library path."""
    before = os.environ.get("LD_LIBRARY_PATH")
    paths = f"{folder}:{before}" if before else str(folder)
    return {**os.environ, "LD_LIBRARY_PATH": paths}


def _write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    path.chmod(0o755)
    return path


def _libraries(executable: Path) -> dict[str, str]:
    """Return name and path of the shared libraries that `executable` loads, by ldd."""
    answer = subprocess.run(
        ["ldd", str(executable)], capture_output=True, text=True, errors="replace", check=False
    )
    paths: dict[str, str] = {}
    for line in answer.stdout.splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if arrow and "/" in rest:  # a relative path if LD_LIBRARY_PATH has relative folders
            paths[name] = rest.rpartition(" (")[0]
    return paths


def _note(executable: Path) -> list[list[str]]:
    return _lines(executable, plain.NOTE_SECTION)


def _link_note(executable: Path) -> list[list[str]]:
    return _lines(executable, plain.LINK_SECTION)


def _lines(executable: Path, section: str) -> list[list[str]]:
    with executable.open("rb") as file:
        return list(plain.note_lines(elf.read_section(file, section)))

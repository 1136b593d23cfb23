"""QEMU's user-mode emulator, and the programs that it can run."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode
from nearfar.profile.compiler import twin
from nearfar.profile.sources.source import UnobservedError
from nearfar.program.executable import Build, check_program, preload

NAME = "qemu-x86_64"
PACKAGE = "qemu-user"
MIN_VERSION, MAX_VERSION = (4, 2), (8, 2)
"""Range of QEMU versions with version 1 of the plugin interface, which plugin.c declares."""

HOW_TO_INSTALL = f"apt-get install {PACKAGE}"


STATIC_CAVEAT = (
    "the program is linked statically: its allocations could not be seen and are under "
    "'unknown memory'; link it dynamically"
)


@dataclass(frozen=True)
class QemuUser:
    """QEMU with support for plugins."""

    path: Path
    version: str
    """Version such as 7.2."""


def installed() -> bool:
    """Return whether QEMU is installed."""
    return shutil.which(NAME) is not None


def find() -> QemuUser:
    """Return QEMU; refuse with the package to install."""
    path = shutil.which(NAME)
    if path is None:
        raise UnobservedError(
            f"{NAME} is not installed, and unmodified programs need it: {HOW_TO_INSTALL}",
            ExitCode.MACHINE_LACKS,
        )
    answer = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    match = re.search(r"version (\d+)\.(\d+)", answer.stdout)
    if match is None:
        raise UnobservedError(f"{path} prints no version", ExitCode.MACHINE_LACKS)
    version = (int(match[1]), int(match[2]))
    usage = subprocess.run([path, "--help"], capture_output=True, text=True, check=False)
    if not MIN_VERSION <= version <= MAX_VERSION or "-plugin" not in usage.stdout:
        raise UnobservedError(
            f"{path} is QEMU {match[1]}.{match[2]}: nearfar needs 4.2 to 8.2, built with plugins "
            "(as in Debian 12)",
            ExitCode.MACHINE_LACKS,
        )
    return QemuUser(Path(path), f"{match[1]}.{match[2]}")


@dataclass(frozen=True)
class ProgramFile:
    """How an ELF file is loaded, from its headers."""

    is_static: bool
    """Whether no loader runs it, so that nothing can be preloaded into it."""
    begin: int
    """Range of its segments if it has fixed addresses; 0 and 0 otherwise."""
    end: int


def unmodified(executable: Path, given: Path | None, source: str) -> Build:
    """Return the program itself as the build that near time comes from, or refuse it."""
    check_program(executable)
    program_file(executable)
    if given is not None:
        raise CommandError(
            f"--plain is for instrumented programs: with --source {source} the program itself is "
            "plain"
        )
    if twin.is_instrumented(executable):
        raise CommandError(
            f"{executable} is instrumented and reports its accesses itself: leave --source "
            f"{source} out, or name a build of it made without nearfar"
        )
    marks = preload("libnearfar_mark.so")
    return Build(executable, {**os.environ, "LD_PRELOAD": marks})


def marks_phases(path: Path) -> bool:
    """Return whether the program's own file uses nearfar/mark.h."""
    return b"nearfar_phase_begin" in path.read_bytes()


_HEADER = struct.Struct("<16sHHIQQQIHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_X86_64, _EXECUTABLE, _LOAD, _INTERPRETER = 62, 2, 1, 3


def program_file(path: Path) -> ProgramFile:
    """Read an ELF file's headers; refuse files that QEMU cannot run."""
    with path.open("rb") as file:
        head = file.read(_HEADER.size)
        if len(head) < _HEADER.size or head[4] != 2 or _HEADER.unpack(head)[2] != _X86_64:
            raise CommandError(f"{path} is not a 64-bit x86 program, and only these can be watched")
        words = _HEADER.unpack(head)
        kind, table, size, count = words[1], words[5], words[9], words[10]
        file.seek(table)
        try:
            rows = [_SEGMENT.unpack(file.read(size)[: _SEGMENT.size]) for _ in range(count)]
        except struct.error as error:
            raise CommandError(f"{path} is truncated: its headers are incomplete") from error
    is_static = not any(row[0] == _INTERPRETER for row in rows)
    loads = [row for row in rows if row[0] == _LOAD]
    if kind != _EXECUTABLE or not loads:
        return ProgramFile(is_static, 0, 0)
    return ProgramFile(is_static, min(r[3] for r in loads), max(r[3] + r[6] for r in loads))

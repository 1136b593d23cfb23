"""Finds a program's file, checks that nearfar can run it, and loads libraries into it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode
from nearfar.native_files import native_file


@dataclass(frozen=True)
class Build:
    """A program's file and the environment it runs in."""

    executable: Path
    environment: Mapping[str, str]


def find_executable(name: str) -> Path:
    """Return the file that the shell would run as `name`; refuse if there is none."""
    if not name:
        raise CommandError("the program's name is empty: give its path")
    file = shutil.which(name)
    if file is not None:
        return Path(file).resolve()
    path = Path(name)
    if path.is_dir():
        raise CommandError(f"cannot run {name}: it is a folder")
    if path.is_file() and not _begins_as_program(path):
        raise CommandError(f"cannot run {name}: it is not a program of this system")
    if path.exists():
        raise CommandError(f"cannot run {name}: it is not executable; chmod +x {name}")
    where = "there is no such file" if "/" in name else "it is not in PATH; write ./ before it"
    raise CommandError(f"cannot run {name}: {where}")


def _begins_as_program(path: Path) -> bool:
    """Return whether a file begins as an ELF program or a script, or cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(4).startswith((b"\x7fELF", b"#!"))
    except OSError:
        return True


_MAX_FIRST_LINE = 256
"""Bytes of a script's first line that Linux reads (BINPRM_BUF_SIZE)."""
HOW_TO_BUILD = 'build it with CC="nearfar cc" and CXX="nearfar c++"'


def check_program(executable: Path) -> None:
    """Refuse a file that is no program, or that runs with other rights than this process."""
    try:
        with executable.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise CommandError(
            f"cannot read {executable} ({error.strerror}), and nearfar must inspect it"
        ) from error
    if start != b"\x7fELF":
        raise CommandError(_not_a_program(executable))
    if gains_rights(executable.stat()):
        raise CommandError(
            f"{executable} is set-user-id, and the loader preloads nothing into such programs: "
            "profile a copy of it, or profile as the user it switches to"
        )


def _not_a_program(executable: Path) -> str:
    """Return a message that `executable` is no program, and what to run instead."""
    with executable.open("rb") as file:
        line = file.readline(_MAX_FIRST_LINE)
    if line[:2] == b"#!":
        words = line[2:].decode(errors="replace").split()
        if words[:1] == ["/usr/bin/env"]:
            words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        if (executable.parent / ".libs" / executable.name).exists():  # a wrapper of libtool
            return f"{executable} is a script: give the program it runs, .libs/{executable.name}"
        interpreter = Path(words[0]).name if words else "the interpreter"
        return (
            f"{executable} is a script: name the program that runs it, as in `{interpreter} "
            f"{executable.name}`"
        )
    if line and b"\0" not in line:
        return (
            f"{executable} is text without a first line #!INTERPRETER: name the program that runs "
            f"it, as in `sh {executable.name}`"
        )
    return f"{executable} is not a program of this system: {HOW_TO_BUILD}"


def gains_rights(file: os.stat_result) -> bool:
    """Return whether running the file gives other rights than this process has."""
    user = bool(file.st_mode & stat.S_ISUID) and file.st_uid != os.geteuid()
    # Set-group-id has this meaning only if the group may execute: stat(2).
    by_group = stat.S_ISGID | stat.S_IXGRP
    group = file.st_mode & by_group == by_group and file.st_gid != os.getegid()
    return user or group


def preloadable(library: str) -> Path:
    """Return the path of `library`; refuse one that LD_PRELOAD would split."""
    path = native_file(library)
    if " " in str(path) or ":" in str(path):
        raise CommandError(
            f"the path {path} has a space or colon, which LD_PRELOAD cannot hold: install nearfar "
            "elsewhere",
            ExitCode.MACHINE_LACKS,
        )
    return path


def preload(library: str) -> str:
    """Return the value of LD_PRELOAD that loads `library` first."""
    before = os.environ.get("LD_PRELOAD")
    path = str(native_file(library))
    return f"{path}:{before}" if before else path

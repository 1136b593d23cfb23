"""Finds the program to profile and its plain twin, or says why it cannot be profiled."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode
from nearfar.native_files import native_file
from nearfar.profile.compiler import twin


@dataclass(frozen=True)
class Build:
    """A program file and the environment it runs in."""

    executable: Path
    environment: Mapping[str, str]


def find_executable(name: str) -> Path:
    """Return the file that the shell would run as `name`, or refuse in one sentence."""
    found = shutil.which(name)
    if found is not None:
        return Path(found).resolve()
    path = Path(name)
    if path.is_dir():
        raise CommandError(f"cannot run {name}: it is a folder")
    if path.exists():
        raise CommandError(f"cannot run {name}: it is not executable; chmod +x {name}")
    where = "there is no such file" if "/" in name else "it is not in PATH; write ./ before it"
    raise CommandError(f"cannot run {name}: {where}")


HOW_TO_BUILD = 'build it with CC="nearfar cc" and CXX="nearfar c++"'


def check_program(executable: Path) -> None:
    """Refuse what is not a program file, or what runs with other rights than ours."""
    try:
        with executable.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise CommandError(
            f"cannot read {executable} ({error.strerror}), and nearfar must see what it is"
        ) from error
    if start[:2] == b"#!":
        raise CommandError(
            f"{executable} is a script: name the program it runs (with libtool: .libs/"
            f"{executable.name}), or the interpreter"
        )
    if start != b"\x7fELF":
        raise CommandError(f"{executable} is not a program of this system; {HOW_TO_BUILD}")
    if gains_rights(executable.stat()):
        raise CommandError(
            f"{executable} runs with rights of its own (set-user-id), and such programs take no "
            "library from nearfar: profile a copy of it, or as the user it becomes"
        )


def gains_rights(file: os.stat_result) -> bool:
    """Tell whether running the file gives another user or group than this process has."""
    user = bool(file.st_mode & stat.S_ISUID) and file.st_uid != os.geteuid()
    # Set-group-id means that only where the group may execute: stat(2).
    by_group = stat.S_ISGID | stat.S_IXGRP
    group = file.st_mode & by_group == by_group and file.st_gid != os.getegid()
    return user or group


def check_instrumented(executable: Path, has_plain: bool) -> None:
    """Refuse what was not built by nearfar's compilers.

    A program whose plain build is named may itself be plain and load instrumented libraries.
    """
    check_program(executable)
    if not has_plain and not twin.is_instrumented(executable):
        raise CommandError(f"{executable} is not instrumented; {HOW_TO_BUILD}")


def plain_build(executable: Path, given: Path | None, folder: Path) -> Build:
    """Return the plain build near time is taken from: `given`, or the embedded twin."""
    if given is not None:
        plain = find_executable(str(given.absolute()))
        return Build(plain, {**os.environ, "LD_PRELOAD": preload("libnearfar_mark.so")})
    plain_twin = twin.extract_plain(executable, folder)
    if plain_twin is None:
        raise CommandError(
            f"{executable} holds no plain build of itself to take near time from: link it with "
            "nearfar's compiler too, or name a plain build made with the same options by --plain"
        )
    return Build(plain_twin, twin.plain_environment(folder))


def instrumented_build(executable: Path) -> Build:
    """Return the instrumented program as it is to be run."""
    return Build(executable, dict(os.environ))


def preloadable(library: str) -> Path:
    """Return the path of `library`, or refuse one that LD_PRELOAD would split."""
    path = native_file(library)
    if " " in str(path) or ":" in str(path):
        raise CommandError(
            f"the path {path} has a space or colon in it, which LD_PRELOAD cannot hold: "
            "install nearfar elsewhere",
            ExitCode.MACHINE_LACKS,
        )
    return path


def preload(library: str) -> str:
    """Return what LD_PRELOAD is to be for `library` to come first."""
    before = os.environ.get("LD_PRELOAD")
    path = str(native_file(library))
    return f"{path}:{before}" if before else path

"""The instrumented and the plain build of a program that nearfar's compilers built."""

from __future__ import annotations

import os
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.profile.compiler import twin
from nearfar.program.executable import HOW_TO_BUILD, Build, check_program, find_executable, preload


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

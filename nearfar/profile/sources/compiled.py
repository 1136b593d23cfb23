"""Code that nearfar's compilers put into the program: the fastest, and it knows classes."""

from __future__ import annotations

import os
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.profile.compiler import twin
from nearfar.profile.sources.source import SourceReport
from nearfar.program.executable import HOW_TO_BUILD, Build, check_program, find_executable, preload
from nearfar.program.launch import Job, RunOutcome, run_job


class CompiledSource:
    """The program reports its accesses itself."""

    name = "compiled"
    compiler = ""
    names_instructions = True

    def plain(self, executable: Path, given: Path | None, folder: Path) -> Build:
        """Return the plain build: the one given or the twin that the program holds."""
        check_instrumented(executable, has_plain=given is not None)
        return plain_build(executable, given, folder)

    def run(
        self, job: Job, executable: Path, plain: Build, folder: Path
    ) -> tuple[RunOutcome, SourceReport]:
        """Run the instrumented program."""
        del plain
        build = instrumented_build(executable)
        return run_job(job, build.executable, build.environment, folder), SourceReport()


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

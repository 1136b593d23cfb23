"""The source of instrumented programs: the fastest, and the only one that knows access classes."""

from __future__ import annotations

import os
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.options.profile import ProfileOptions
from nearfar.profile.compiler import twin
from nearfar.profile.sources.source import SOURCES, AccessSource, SourceReport, refuse_sampling
from nearfar.program.executable import HOW_TO_BUILD, Build, check_program, find_executable, preload
from nearfar.program.launch import Job, RunOutcome, run_job

_BUILD = "build with a smaller --nearfar-rate"


@SOURCES.register("compiled")
class CompiledSource(AccessSource):
    """An instrumented program reports its accesses itself."""

    name = "compiled"
    order = 1
    run_as = "instrumented"
    runs = "instrumented program"
    finer = (
        _BUILD,
        ", or the code that touches memory was not built by nearfar; building with "
        "--nearfar-rate=1 samples every line",
        _BUILD,
    )
    is_built_in = True
    names_instructions = True
    compiler = ""

    @classmethod
    def of(cls, options: ProfileOptions, sample_s: float) -> CompiledSource:
        """Return the source; the program is observed as long as it runs."""
        del sample_s
        refuse_sampling(options, cls.name, "give --nearfar-rate to nearfar cc")
        if options.sample is not None and not options.bursts:
            raise CommandError(
                "--sample applies to --source qemu or counters, and to --bursts: a program built "
                "by nearfar cc is observed as long as it runs; --duration stops it"
            )
        return cls()

    @classmethod
    def offer(cls, options: ProfileOptions, executable: Path, sample_s: float) -> str | None:
        """Return "", nothing to say, for an instrumented program or with --plain; else None."""
        del sample_s
        return "" if options.plain is not None or twin.is_instrumented(executable) else None

    def plain(self, executable: Path, given: Path | None, folder: Path) -> Build:
        """Return the plain build: `given`, or the plain twin inside the program."""
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
    """Refuse a program that was not built by nearfar's compilers.

    With --plain, the program itself may be plain and load instrumented libraries.
    """
    check_program(executable)
    if not has_plain and not twin.is_instrumented(executable):
        raise CommandError(f"{executable} is not instrumented; {HOW_TO_BUILD}")


def plain_build(executable: Path, given: Path | None, folder: Path) -> Build:
    """Return the build that near time comes from: `given`, or the embedded plain twin."""
    if given is not None:
        plain = find_executable(str(given.absolute()))
        return Build(plain, {**os.environ, "LD_PRELOAD": preload("libnearfar_mark.so")})
    plain_twin = twin.extract_plain(executable, folder)
    if plain_twin is None:
        raise CommandError(
            f"{executable} contains no plain build for near time: link it with nearfar's compiler "
            "too, or give --plain a build made with the same options"
        )
    return Build(plain_twin, twin.plain_environment(folder))


def instrumented_build(executable: Path) -> Build:
    """Return the instrumented program with this process's environment."""
    return Build(executable, dict(os.environ))

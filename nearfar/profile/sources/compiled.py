"""Code that nearfar's compilers put into the program: the fastest, and it knows classes."""

from __future__ import annotations

from pathlib import Path

from nearfar.profile.builds import check_instrumented, instrumented_build, plain_build
from nearfar.profile.sources.source import SourceReport
from nearfar.program.executable import Build
from nearfar.program.launch import Job, RunOutcome, run_job


class Compiled:
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

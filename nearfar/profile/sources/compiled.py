"""Code that nearfar's compilers put into the program: the fastest, and it knows classes."""

from __future__ import annotations

from pathlib import Path

from nearfar.profile import program
from nearfar.profile.launch import Ended, Job, run
from nearfar.profile.sources.source import Seen


class Compiled:
    """The program reports its accesses itself."""

    name = "compiled"
    compiler = ""
    names_instructions = True

    def plain(self, executable: Path, given: Path | None, folder: Path) -> program.Build:
        """Return the plain build: the one given or the twin that the program holds."""
        program.check_instrumented(executable, has_plain=given is not None)
        return program.plain_build(executable, given, folder)

    def run(
        self, job: Job, executable: Path, plain: program.Build, folder: Path
    ) -> tuple[Ended, Seen]:
        """Run the instrumented program."""
        del plain
        build = program.instrumented_build(executable)
        return run(job, build.executable, build.environment, folder), Seen()

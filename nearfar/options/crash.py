"""Options of `crash` and `crash replay`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from nearfar.base.errors import CommandError
from nearfar.options.option import Option, Options
from nearfar.options.shared import JsonOptions, ProgramOptions

if TYPE_CHECKING:
    from nearfar.documents import CrashState


@dataclass(frozen=True, kw_only=True)
class CrashOptions(ProgramOptions):
    """Options of `crash`."""

    EXAMPLE: ClassVar[str] = "nearfar crash --check 'CHECK {pool}' -- PROGRAM {pool}"

    command: Annotated[Sequence[str], Option(position="rest", any_text=True)] = ()
    """The program and its arguments, after `--`; {pool} stands for the pool's path."""
    check: str = ""
    """Command that judges an image: exit code 0 accepts it. {pool} stands for its path, {done} and
    {begun} for the last operations that ended and began, {in_flight} for those that have begun and
    not ended (nearfar/crash.h). It may recover and change the image. It is loaded once and forked;
    a program or shared library with NEARFAR_CRASH_CHECKER in it is called as a function."""
    dump: str = ""
    """Command that prints the content of an image: a line "key value" for each key of a map, "key"
    of a set; a line that begins with ! reports an error. The content must follow from the
    operations that the program marks (NEARFAR_CRASH_OP): all that ended, and any of those in
    flight."""
    files: Path | None = None
    """The data is in files, not in a pool: folder that holds it before the run, which is copied; it
    may be absent. {files} stands for the copy in the program's arguments and in the check,
    {printed} in the check for a file with what the program had printed when the power failed."""
    file_system: str = "all"
    """With --files: models of file systems, separated by commas: journal, ordered, writeback (ext4
    with that data mode), posix (only what a sync promises), or all."""
    adapter: str = ""
    """With --files: a check that comes with nearfar in place of --check: sqlite, lines, or keys,
    which compares what --dump prints with the operations that the program prints."""
    pool_check: bool = True
    """Also run libpmemobj's own check on its pools, in a few states of each failure point."""
    pool: Path | None = None
    """Pool before the run, which is copied. Without it the program makes its own."""
    states: int = 20_000
    """Most states to judge: the budget. The same seed and budget give the same report on a slow
    and on a fast machine."""
    seconds: float = 600.0
    """Time limit, if the states take longer than that."""
    first: bool = False
    """Stop at the first bug."""
    baseline: Path | None = None
    """A CrashReport of known bugs: they are counted, and do not change the exit code."""
    timeout: str = "5s"
    """Time after which one check counts as a hang."""
    seed: int = 1
    """Seed of the random states and of the order in which threads take turns."""
    eadr: bool = False
    """The processor's caches survive the power cut."""
    workers: int = 1
    """Explorers that share the states, each with its own checker."""
    schedules: int = 1
    """For a program with threads: number of recordings, each with another order of the threads."""
    preemptions: int = 0
    """Choose these orders so that no two are alike, those with the fewest preemptions first and at
    most this many: a thread loses its turn before a store, flush, fence or lock. Some orders within
    that bound may be missed. They share the budget, and --resume cannot continue them. 0: draw
    them."""
    resume: bool = False
    """Continue where the time limit or Ctrl-C ended the same command with the same -o."""
    output: Annotated[Path | None, Option(short="-o")] = None
    """File for the report; states to replay go to the folder FILE-bugs next to it, in place of
    those of an earlier report."""

    def check_options(self) -> None:
        """Refuse an exploration without a checker, and options without the one they belong to."""
        super().check_options()
        if self.files is not None:
            self._check_files()
        elif self.adapter or self.file_system != "all":
            raise CommandError("--adapter and --file-system are for programs with --files FOLDER")
        elif not self.check and not self.dump:
            raise CommandError(
                "name a checker for the images: --check 'CHECK {pool}' or --dump 'DUMP {pool}'"
            )
        if self.resume and self.output is None:
            raise CommandError("--resume continues the exploration of a report: name it by -o")
        if self.resume and self.preemptions:
            raise CommandError("--resume cannot continue chosen orders: leave out --preemptions")

    def _check_files(self) -> None:
        """Refuse options that apply only to pools, and more or less than one checker."""
        of_pools = {
            "--pool": self.pool is not None,
            "--eadr": self.eadr,
            "--workers": self.workers != 1,
            "--schedules": self.schedules != 1,
            "--preemptions": self.preemptions != 0,
            "--resume": self.resume,
        }
        for name, given in of_pools.items():
            if given:
                raise CommandError(f"{name} applies only to pools: leave it out with --files")
        if self.dump and not self.adapter:
            raise CommandError("--dump with --files needs --adapter keys, which judges the content")
        if bool(self.check) == bool(self.adapter):
            raise CommandError(
                "name a checker for the images of the files: --check 'CHECK {files}' or "
                "--adapter NAME"
            )


@dataclass(frozen=True, kw_only=True)
class CrashFiles(JsonOptions):
    """Printed output of a crash report, and its other formats."""

    sarif: Path | None = None
    """File for bugs and lints as SARIF 2.1.0, for code scanning."""
    junit: Path | None = None
    """File for bugs and lints as JUnit XML, for continuous integration."""
    page: Path | None = None
    """File for the report as one HTML page."""


@dataclass(frozen=True, kw_only=True)
class ReplayOptions(Options):
    """Options of `crash replay`."""

    state: Annotated[Path | CrashState, Option(position="first")]
    """bug-N.json, as `nearfar crash -o` wrote it."""
    check: str | None = None
    """Another checker, such as 'gdb --args CHECK {pool}'."""
    keep: Path | None = None
    """File for the image as it is before the checker runs."""
    debugger: str | None = None
    """Run the checker under it at this terminal, such as gdb; exit code: the debugger's."""

"""Sources of accesses, found by the registry: each finds its builds and runs one counted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from nearfar.base.errors import CommandError, ExitCode
from nearfar.base.registry import Registry
from nearfar.options.profile import ProfileOptions
from nearfar.profile.deadline import RunDeadline
from nearfar.profile.sources.sampled_end import TimedPart
from nearfar.program.executable import HOW_TO_BUILD, Build
from nearfar.program.launch import Job, RunOutcome
from nearfar.program.phases import ProfiledRun


@dataclass
class SourceReport:
    """Shares, counts and caveats of a counted run, in addition to the processes' files."""

    shares: dict[int, float] = field(default_factory=dict)
    """Sampled share of each phase's work, by phase number; 1 for phases not listed."""
    counted: dict[int, dict[str, float]] = field(default_factory=dict)
    """The processor's counts by phase number and name of CounterInterval."""
    caveats: list[str] = field(default_factory=list)
    timed: TimedPart | None = None
    """Native times of the sampled part, if that part was timed separately."""
    share_known: bool = True
    """Whether the sampled share of the work is known."""
    part_was_chosen: bool = False
    """Whether an option chose the sampled part of the work; the profile is of that part only."""


class UnobservedError(CommandError):
    """Raised if no source on this machine can observe a program that runs by itself."""

    def __init__(
        self,
        message: str,
        exit_code: ExitCode = ExitCode.WRONG_USE,
        plain_run: ProfiledRun | None = None,
    ) -> None:
        """Keep the run of the program by itself, if there was one."""
        super().__init__(message, exit_code)
        self.plain_run = plain_run


class AccessSource(ABC):
    """A source of accesses."""

    name: ClassVar[str]
    """Name of the source for --source."""
    order: ClassVar[int]
    """Place among the sources that are tried where --source is not given."""
    run_as: ClassVar[str]
    """How the counted run is announced, such as ``under qemu``."""
    runs: ClassVar[str]
    """Name of the counted program in warnings."""
    finer: ClassVar[tuple[str, str, str]]
    """How to sample more lines: where the simulated cache is too small, where no sampled line was
    touched (the end of a sentence), and where few misses were sampled."""
    how_to_get: ClassVar[str] = ""
    """How to make it available for any program, as part of a sentence."""
    is_built_in: ClassVar[bool] = False
    """Whether the program was built to count itself, and has a plain twin."""
    counts_children: ClassVar[bool] = False
    """Whether accesses of processes that the program starts are counted, whatever they run."""
    times_parts: ClassVar[bool] = False
    """Whether a program that takes too long is sampled in part, and that part timed alone."""
    names_instructions: ClassVar[bool] = False
    """Whether records name instructions; otherwise they hold addresses to look up after the run."""
    how_long: str = ""
    """Longest time of the counted run, where it is announced: `` for at most 30 s``."""
    compiler: str
    """Text for the profile on how the program was built; "" if the processes' files have it."""

    @classmethod
    @abstractmethod
    def of(cls, options: ProfileOptions, sample_s: float) -> AccessSource:
        """Return the source for these options; refuse options that it has no use for."""

    @classmethod
    @abstractmethod
    def offer(cls, options: ProfileOptions, executable: Path, sample_s: float) -> str | None:
        """Return what to say if the source is used without --source; None if it cannot be used."""

    @abstractmethod
    def plain(self, executable: Path, given: Path | None, folder: Path) -> Build:
        """Return the build that near time comes from; refuse a program that cannot be watched."""

    def within(self, deadline: RunDeadline, job: Job, by_itself: RunOutcome) -> AccessSource:
        """Return the source that observes `job` in the time left after its run `by_itself`."""
        del deadline, job, by_itself
        return self

    @abstractmethod
    def run(
        self, job: Job, executable: Path, plain: Build, folder: Path
    ) -> tuple[RunOutcome, SourceReport]:
        """Run `job` and count its accesses; `folder` holds the processes' files afterwards."""


SOURCES: Registry[type[AccessSource]] = Registry("nearfar.profile.sources", "source of accesses")


def choose(
    options: ProfileOptions, executable: Path, sample_s: float, say: Callable[[str], None]
) -> AccessSource:
    """Return the source that --source names, or the first that can watch the program."""
    names = SOURCES.names()
    if options.source is not None:
        if options.source not in names:
            choices = ", ".join(f'"{name}"' for name in names)
            raise CommandError(
                f'Invalid value "{options.source}" for --source. Choose from: {choices}.'
            )
        return SOURCES.get(options.source).of(options, sample_s)
    kinds = sorted((SOURCES.get(name) for name in names), key=lambda kind: kind.order)
    for kind in kinds:
        remark = kind.offer(options, executable, sample_s)
        if remark is not None:
            if remark:
                say(remark)
            return kind.of(options, sample_s)
    ways = ", or ".join([HOW_TO_BUILD, *(kind.how_to_get for kind in kinds if kind.how_to_get)])
    raise UnobservedError(f"{executable} is not instrumented; {ways}")


def refuse_sampling(options: ProfileOptions, name: str, instead: str) -> None:
    """Refuse the options that choose how QEMU samples; `instead` follows on --rate."""
    if options.sample_instructions is not None:
        raise CommandError(
            f"--sample-instructions is for --source qemu, which counts them; this is {name}"
        )
    if options.rate is not None:
        raise CommandError(f"--rate is for --source qemu; {instead}")


def phase_share(shares: Mapping[int, float], number: int) -> float:
    """Return the sampled share of a phase."""
    return shares.get(number, 1.0)

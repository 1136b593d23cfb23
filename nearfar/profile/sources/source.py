"""The protocol of a source of accesses: it finds the builds to run, and runs one counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from nearfar.program.executable import Build
from nearfar.program.launch import Job, RunOutcome


@dataclass
class SourceReport:
    """Shares, counts and caveats of a counted run, in addition to the processes' files."""

    shares: dict[int, float] = field(default_factory=dict)
    """Sampled share of each phase's work, by phase number; 1 for phases not listed."""
    counted: dict[int, dict[str, float]] = field(default_factory=dict)
    """The processor's counts by phase number and name of CounterInterval."""
    caveats: list[str] = field(default_factory=list)


class AccessSource(Protocol):
    """A source of accesses."""

    name: str
    """Name of the source for --source."""
    compiler: str
    """Text for the profile on how the program was built; "" if the processes' files have it."""
    names_instructions: bool
    """Whether records name instructions; otherwise they hold addresses to look up after the run."""

    def plain(self, executable: Path, given: Path | None, folder: Path) -> Build:
        """Return the build that near time comes from; refuse a program that cannot be watched."""
        ...

    def run(
        self, job: Job, executable: Path, plain: Build, folder: Path
    ) -> tuple[RunOutcome, SourceReport]:
        """Run `job` and count its accesses; `folder` holds the processes' files afterwards."""
        ...


def phase_share(shares: Mapping[int, float], number: int) -> float:
    """Return the sampled share of a phase."""
    return shares.get(number, 1.0)

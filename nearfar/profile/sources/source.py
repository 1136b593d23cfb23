"""What a source of accesses is: finds the builds to run, runs one of them counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from nearfar.program.executable import Build
from nearfar.program.launch import Job, RunOutcome


@dataclass
class SourceReport:
    """What a source says of the run it watched, besides the processes' files."""

    shares: dict[int, float] = field(default_factory=dict)
    """By phase number: which share of its work was looked at; 1 where it is not here."""
    counted: dict[int, dict[str, float]] = field(default_factory=dict)
    """By phase number: what the processor counted, by the names of CounterInterval."""
    caveats: list[str] = field(default_factory=list)


class AccessSource(Protocol):
    """One way to see accesses."""

    name: str
    """What --source calls it."""
    compiler: str
    """What the profile says of how the program was built; "" where its files say it."""
    names_instructions: bool
    """False: their records hold addresses, to be looked up when the program has ended."""

    def plain(self, executable: Path, given: Path | None, folder: Path) -> Build:
        """Return the build that near time is taken from; refuse a program it cannot watch."""
        ...

    def run(
        self, job: Job, executable: Path, plain: Build, folder: Path
    ) -> tuple[RunOutcome, SourceReport]:
        """Run `job` watched; `folder` is a run folder, and holds the processes' files after."""
        ...


def phase_share(shares: Mapping[int, float], number: int) -> float:
    """Return the share of a phase that was looked at."""
    return shares.get(number, 1.0)

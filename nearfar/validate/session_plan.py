"""The plan of a session, and what it has measured so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from nearfar.contention.co_runner import CoRunner
from nearfar.contention.program_memory import ProgramMemory
from nearfar.documents.validation import KernelResult, Session
from nearfar.validate.core_pairing import OpenPairings, observed_pairings
from nearfar.validate.curves import MemoryCurves


@dataclass(frozen=True)
class SessionEffort:
    """How much is measured; more rounds make results more certain."""

    rounds: int
    """Rounds of each kernel; four samples each."""
    curve_rounds: int
    """Rounds of device curves, spread over a kernel's rounds."""
    profile_runs: int
    """Runs that a kernel's profile counts: more make sampled misses more certain."""
    program_rounds: int

    def with_rounds(self, rounds: int) -> SessionEffort:
        """Return `rounds` rounds, with curves and programs in the proportions of `FULL`."""
        return replace(
            self,
            rounds=rounds,
            curve_rounds=max(1, rounds * FULL.curve_rounds // FULL.rounds),
            program_rounds=max(1, rounds * FULL.program_rounds // FULL.rounds),
        )


QUICK = SessionEffort(rounds=3, curve_rounds=1, profile_runs=2, program_rounds=1)
"""About 3 minutes; a kernel has one round of curves, so the rounds of its neighbours count too."""

FULL = SessionEffort(rounds=15, curve_rounds=8, profile_runs=4, program_rounds=5)
"""About 15 minutes; most curves used for a kernel are sampled during its rounds: next to a core
that shares the cache, far latency went from 390 to 550 ns and back within a few minutes."""


@dataclass(frozen=True)
class SessionPlan:
    """The memories, kernels and programs of a session, and how long to measure them."""

    near: ProgramMemory
    far: ProgramMemory
    kernels: tuple[str, ...]
    programs: tuple[tuple[str, ...], ...]
    region_bytes: int
    effort: SessionEffort
    open_pairings: OpenPairings = field(default_factory=lambda: observed_pairings(None))


@dataclass
class SessionState:
    """Everything measured so far; kept when the session is interrupted."""

    session: Session
    near: MemoryCurves
    far: MemoryCurves
    pairing: int
    """A core pairing for which curves of both memories are complete."""
    results: list[KernelResult] = field(default_factory=list)
    lacking: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    interrupted: bool = False


@dataclass(frozen=True)
class SessionCoRunners:
    """The processes on the other CPU, if there is one."""

    spinner: CoRunner | None = None
    load: CoRunner | None = None
    """The load of a far memory whose spec has one."""

    @property
    def far(self) -> CoRunner | None:
        """The process that runs while far data are timed."""
        return self.load or self.spinner


KeepResult = Callable[[Session, KernelResult], None]
"""Stores each result as soon as it is measured."""

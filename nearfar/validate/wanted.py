"""What a session is to do, and what it found so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from nearfar.contention.companion import Companion
from nearfar.contention.program_memory import ProgramMemory
from nearfar.documents.validation import KernelResult, Session
from nearfar.validate.curves import Curves
from nearfar.validate.placement import Cores


@dataclass(frozen=True)
class Effort:
    """How much is done; what takes longer is surer."""

    rounds: int
    """Of each kernel; four samples each."""
    curve_rounds: int
    """Of device curves, spread over a kernel's rounds."""
    profile_runs: int
    """Runs that a kernel's profile counts: sampled misses, so more are surer."""
    program_rounds: int

    def with_rounds(self, rounds: int) -> Effort:
        """Return as many rounds, with as many of curves and of programs to each as `FULL` has."""
        return replace(
            self,
            rounds=rounds,
            curve_rounds=max(1, rounds * FULL.curve_rounds // FULL.rounds),
            program_rounds=max(1, rounds * FULL.program_rounds // FULL.rounds),
        )


QUICK = Effort(rounds=3, curve_rounds=1, profile_runs=2, program_rounds=1)
"""About three minutes; with one round of curves a kernel, those of its neighbours count too."""

FULL = Effort(rounds=15, curve_rounds=8, profile_runs=4, program_rounds=5)
"""About fifteen minutes: the curves of a kernel's own minute outnumber those before. Beside a core
that shares the cache, far latency went from 390 to 550 ns and back within a few minutes."""


@dataclass(frozen=True)
class Wanted:
    """What a session is to do."""

    near: ProgramMemory
    far: ProgramMemory
    kernels: tuple[str, ...]
    programs: tuple[tuple[str, ...], ...]
    region_bytes: int
    effort: Effort
    cores: Cores = "apart"


@dataclass
class Found:
    """What a session found so far; kept when it is interrupted."""

    session: Session
    near: Curves
    far: Curves
    placement: int
    """Of the cores, that curves of both memories are known of."""
    results: list[KernelResult] = field(default_factory=list)
    lacking: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    interrupted: bool = False


@dataclass(frozen=True)
class Companions:
    """What runs on the other core, if there is one."""

    spinner: Companion | None = None
    contender: Companion | None = None
    """Of a far memory with a load."""

    @property
    def far(self) -> Companion | None:
        """What runs beside far data."""
        return self.contender or self.spinner


Keep = Callable[[Session, KernelResult], None]
"""Told of each result as soon as it is there."""

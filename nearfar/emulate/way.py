"""What a way of emulating is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

from nearfar.base.errors import CommandError, ExitCode
from nearfar.base.registry import Registry
from nearfar.documents.plan import Placement
from nearfar.memories.topology import Topology
from nearfar.predict.memory import MemoryCosts
from nearfar.profile.session import ProfileRequest
from nearfar.program.launch import RunOutcome
from nearfar.program.phases import PhaseTime

Say = Callable[[str], None]


MOST_SLOW_MOTION = 8.0
"""Tracing takes at most about so many times a program's own time (findings: dense products)."""


@dataclass(frozen=True)
class Wanted:
    """What is to be emulated."""

    near: MemoryCosts
    far: MemoryCosts
    machine: Topology
    ahead: bool
    """This core fetches streams ahead of their use, by near memory's profile: what probes take at
    one moment may tell otherwise at the next."""
    placements: Sequence[Placement] = ()
    """Those that stay near; empty: everything is far."""
    slow_motion: float = 1.0
    """How many times as long as in the far memory all is to take, where a way can do that."""
    most_slow_motion: float = MOST_SLOW_MOTION
    """A way may take more than `slow_motion` where tracing needs it, up to here."""
    near_now: Callable[[Mapping[str, PhaseTime]], MemoryCosts] | None = None
    """Near memory as phases that took so long in it, plain, find it; None: `near` as it is."""
    one_of: Callable[[str], str] = str
    """Phase to what it is a part of: parts do the same work, and the middle one counts."""


@dataclass(frozen=True)
class Times:
    """Of one program: its phases near and emulated."""

    near: dict[str, PhaseTime]
    emulated: dict[str, PhaseTime]
    status: str
    failed: bool
    delayed_ns: float = 0.0
    overhead_ns: float = 0.0
    unpaid_ns: float = 0.0
    slow_motion: float = 1.0
    """`emulated` is what was measured over this."""
    near_objects: list[str] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)


class Way(Protocol):
    """One way to run a program as if memory were far."""

    slows_down: ClassVar[bool]
    """Whether it can run in slow motion."""

    def lacks(self, wanted: Wanted, executable: Path) -> str:
        """Return why it cannot be had here for this program; empty: it can."""
        ...

    def run(self, request: ProfileRequest, wanted: Wanted, say: Say) -> Times:
        """Run the program near and emulated."""
        ...


WAYS: Registry[type[Way]] = Registry("nearfar.emulate.ways", "way to emulate")


def check_ended(outcome: Times | RunOutcome, command: Sequence[str]) -> None:
    """Refuse what a program that failed took."""
    if outcome.failed:
        raise CommandError(
            f"{command[0]} {outcome.status} when it was emulated: its times mean nothing, and "
            "nothing was saved",
            ExitCode.PROGRAM_FAILED,
        )

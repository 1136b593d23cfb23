"""The interface of a mechanism that makes memory slower."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

from nearfar.base.errors import CommandError, ExitCode
from nearfar.base.registry import Registry
from nearfar.documents.plan import Placement
from nearfar.memories.topology import Topology
from nearfar.options.emulate import MAX_SLOW_MOTION
from nearfar.predict.memory import MemoryCosts
from nearfar.profile.session import ProfileRequest
from nearfar.program.launch import RunOutcome
from nearfar.program.phases import PhaseTime

Say = Callable[[str], None]


@dataclass(frozen=True)
class EmulationTarget:
    """The memories to emulate, and settings of the emulation."""

    near: MemoryCosts
    far: MemoryCosts
    machine: Topology
    ahead: bool
    """Whether this core prefetches streams, according to near memory's profile, because probes show
    it at some moments only."""
    placements: Sequence[Placement] = ()
    """The objects that stay near; empty: everything is far."""
    slow_motion: float = 1.0
    """Factor on the time in the far memory, where a mechanism can run in slow motion."""
    max_slow_motion: float = MAX_SLOW_MOTION
    """Largest `slow_motion` that a mechanism may use if tracing needs it."""
    near_now: Callable[[Mapping[str, PhaseTime]], MemoryCosts] | None = None
    """Function from times of plain phases to near memory as it is now; None: use `near`."""
    group_of: Callable[[str], str] = str
    """The group of a phase: phases of a group do the same work, and their median counts."""


@dataclass(frozen=True)
class EmulationTimes:
    """The phases of one program, near and emulated."""

    near: dict[str, PhaseTime]
    emulated: dict[str, PhaseTime]
    status: str
    failed: bool
    delayed_ns: float = 0.0
    overhead_ns: float = 0.0
    unpaid_ns: float = 0.0
    slow_motion: float = 1.0
    """Divisor by which measured times became `emulated`."""
    near_objects: list[str] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)


class Mechanism(Protocol):
    """One mechanism to run a program as if memory were far."""

    slows_down: ClassVar[bool]
    """Whether it can run in slow motion."""

    def missing(self, target: EmulationTarget, executable: Path) -> str:
        """Return why the mechanism cannot be used for this program; empty if it can."""
        ...

    def run(self, request: ProfileRequest, target: EmulationTarget, say: Say) -> EmulationTimes:
        """Run the program near and emulated."""
        ...


MECHANISMS: Registry[type[Mechanism]] = Registry(
    "nearfar.emulate.mechanisms", "mechanism of emulation"
)


def check_ended(run: EmulationTimes | RunOutcome, command: Sequence[str]) -> None:
    """Raise an error if the program failed: its times are not valid."""
    if run.failed:
        raise CommandError(
            f"{command[0]} {run.status} when it was emulated: its times are invalid, and nothing "
            "was saved",
            ExitCode.PROGRAM_FAILED,
        )

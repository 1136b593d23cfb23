"""The parts of a conversion: steps, obstacles, warnings."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field

from nearfar.machine.sysfs import Tree


@dataclass(frozen=True)
class DraftStep:
    """One command, and the state that shows its success."""

    why: str
    expected: str
    """The state after the command, as a clause: ``namespace0.0 is fsdax``."""
    holds: Callable[[Tree], bool]
    """Test whether a machine is in that state."""
    argv: tuple[str, ...] = ()
    """The command without sudo; empty where a file is written."""
    writes: tuple[str, str] | None = None
    """File and line to write, instead of a command."""
    destroys: tuple[str, ...] = ()
    """Names of memories whose data the command destroys; the user must type these names."""
    reboot: bool = False
    after_reboot: bool = False
    """Whether the step follows a reboot: it has usual names now, and is drafted again then."""

    def command(self) -> str:
        """Return the command as a user would type it."""
        if self.writes is not None:
            path, line = self.writes
            return f"echo {shlex.quote(line)} | sudo tee {shlex.quote(path)}"
        return "sudo " + shlex.join(self.argv)


@dataclass(frozen=True)
class Obstacle:
    """A precondition that does not hold."""

    what: str
    fix: str = ""
    """Command that removes it; empty if no command does."""


@dataclass
class DraftConversion:
    """Remaining steps of a conversion."""

    steps: list[DraftStep] = field(default_factory=list)
    obstacles: list[Obstacle] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def stop(self, what: str, fix: str = "") -> None:
        """Add an obstacle, once."""
        obstacle = Obstacle(what, fix)
        if obstacle not in self.obstacles:
            self.obstacles.append(obstacle)

    def warn(self, text: str) -> None:
        """Add a warning, once."""
        if text not in self.warnings:
            self.warnings.append(text)

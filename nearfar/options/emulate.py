"""Options of `emulate`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from nearfar.base.errors import CommandError
from nearfar.options.option import Option
from nearfar.options.shared import DriverOptions, ProgramOptions

if TYPE_CHECKING:
    from nearfar.documents import Plan

MAX_SLOW_MOTION = 8.0
"""Largest factor: tracing takes at most about 8 times a program's own time (dense products)."""


@dataclass(frozen=True, kw_only=True)
class EmulateOptions(DriverOptions, ProgramOptions):
    """Options of `emulate`."""

    EXAMPLE: ClassVar[str] = "nearfar emulate --far DEVICE -- PROGRAM ARGS"

    far: str
    """A device of the library, or the file of a DeviceProfile."""
    near: Path
    """The DeviceProfile of this machine's memory, from `nearfar measure dram`."""
    plan: Path | Plan | None = None
    """A plan of `nearfar place`: what it keeps near is not delayed. By default everything is
    far."""
    by: Literal["node", "delays", "contention"] | None = None
    """Use this mechanism; by default the first one that the probes show to be faithful."""
    llc: Annotated[str | None, Option(any_text=True)] = None
    """Size of the last-level cache to simulate; by default the size in `near` that a core gets."""
    after: Annotated[str, Option(any_text=True)] = "0s"
    """Count only from this long after the start."""
    plain: Path | None = None
    """A plain build of the program, if not the one it holds."""
    slow_motion: Annotated[float | None, Option(any_text=True)] = None
    """Limit of slow motion: if tracing takes longer than the far memory would, the program runs up
    to this many times slower, and the times shown are divided by the factor. Default: 8; 1: no slow
    motion."""

    def check_options(self) -> None:
        """Refuse a limit of slow motion outside its bounds."""
        super().check_options()
        slow = self.slow_motion
        if slow is not None and not 1.0 <= slow <= MAX_SLOW_MOTION:
            raise CommandError(
                f"--slow-motion must be from 1 (never) to {MAX_SLOW_MOTION:g}, not {slow:g}"
            )

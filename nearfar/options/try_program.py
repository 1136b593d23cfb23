"""Options of `try`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from nearfar.base.errors import CommandError
from nearfar.base.units import parse_positive_seconds
from nearfar.options.option import Option
from nearfar.options.shared import DriverOptions, JsonOptions, ProgramOptions

if TYPE_CHECKING:
    from nearfar.documents import DeviceProfile

SIX_MEMORIES = (
    "ddr5-remote-dmsim",
    "cxl-asic-dmsim",
    "cxl-micron-cz120",
    "cxl-fpga-dmsim",
    "optane-200",
    "optane-100-6dimm",
)
"""Far memories of the first answer: another socket, three of CXL, two of Optane."""

MIN_TIME_S = 45.0
"""Shortest `--time`: near memory, one run, and ten seconds under QEMU."""


@dataclass(frozen=True, kw_only=True)
class TryOptions(DriverOptions, ProgramOptions):
    """Options of `try`."""

    EXAMPLE: ClassVar[str] = "nearfar try -- PROGRAM ARGS"

    far: Sequence[str | DeviceProfile] = SIX_MEMORIES
    """A library device (`nearfar device list`) or a device file; repeat for several. Default: the
    memory of another socket, three of CXL, two of Optane."""
    near: str | DeviceProfile = ""
    """The memory the program runs in: a file of `nearfar measure`, or a library device. Default:
    near memory of this machine, measured once per boot."""
    time: Annotated[str, Option(any_text=True)] = "90s"
    """Time for everything, such as 3min; one run of the program may take a fifth of it."""
    after: str = "0s"
    """Count only from this long after the start, such as 5s: for servers."""

    def check_options(self) -> None:
        """Refuse a time in which nothing can be observed."""
        super().check_options()
        if self.seconds() < MIN_TIME_S:
            raise CommandError(f"--time must be at least {MIN_TIME_S:g}s, not {self.time}")

    def seconds(self) -> float:
        """Return the time for everything, s."""
        return parse_positive_seconds(self.time, "--time")


@dataclass(frozen=True, kw_only=True)
class FirstFiles(JsonOptions):
    """Where the files of a first answer go, and what is printed."""

    output: Annotated[Path, Option(short="-o")] = Path("nearfar-try")
    """Folder for report.html, run.json (the profile) and near.json (near memory)."""

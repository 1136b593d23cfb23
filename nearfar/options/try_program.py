"""Options of `try`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from nearfar.base.errors import CommandError
from nearfar.base.units import parse_positive_seconds, parse_seconds
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

TIME_S = 45.0
"""Default `--time` for a program that ends by itself."""
MIN_TIME_S = 25.0
"""Shortest `--time`: one run, ten seconds under QEMU, and the answer."""
PASSES_OF_AFTER = 2.5
"""Runs that pass the part before `--after`: by itself, under QEMU, and by itself again to where
sampling ended; the last passes what QEMU passed, in at most half its time."""


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
    time: Annotated[str | None, Option(any_text=True)] = None
    """Time for the program's runs and the answer, such as 3min; measuring near memory, where
    needed, takes 20 s more. Default: 45s, and 2.5 times --after and twice --duration."""
    after: str = "0s"
    """Count only from this long after the start, such as 5s: for servers."""

    def check_options(self) -> None:
        """Refuse a time in which nothing can be observed."""
        super().check_options()
        if self.seconds() < MIN_TIME_S:
            raise CommandError(f"--time must be at least {MIN_TIME_S:g}s, not {self.time}")

    def seconds(self) -> float:
        """Return the time for the program's runs and the answer, s."""
        if self.time is None:
            return TIME_S + self.given_s()
        return parse_positive_seconds(self.time, "--time")

    def given_s(self) -> float:
        """Return what all runs take for --after and --duration, s; 0 without them."""
        duration_s = 0.0
        if self.duration is not None:
            duration_s = parse_positive_seconds(self.duration, "--duration")
        return PASSES_OF_AFTER * parse_seconds(self.after, "--after") + 2 * duration_s


@dataclass(frozen=True, kw_only=True)
class FirstFiles(JsonOptions):
    """Where the files of a first answer go, and what is printed."""

    output: Annotated[Path, Option(short="-o")] = Path("nearfar-try")
    """Folder for report.html, run.json (the profile) and near.json (near memory)."""

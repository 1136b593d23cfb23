"""Options that several verbs share, each declared once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from nearfar.base.errors import CommandError
from nearfar.options.option import Option, Options

if TYPE_CHECKING:
    from nearfar.documents import DeviceProfile, HostRule, MachineProfile, WorkloadProfile


@dataclass(frozen=True, kw_only=True)
class JsonOptions(Options):
    """Printed output of a verb."""

    json: bool = False
    """Print JSON on standard output."""
    quiet: Annotated[bool, Option(short="-q")] = False
    """Print nothing but errors."""


@dataclass(frozen=True, kw_only=True)
class DeliveryOptions(JsonOptions):
    """Where a verb's document goes, and what is printed of it."""

    output: Annotated[Path | None, Option(short="-o")] = None
    """File to write the document to."""


@dataclass(frozen=True, kw_only=True)
class ProfiledOptions(Options):
    """A profiled program."""

    profile: Annotated[Path | WorkloadProfile, Option(position="first")]
    """File that `nearfar profile` wrote."""


@dataclass(frozen=True, kw_only=True)
class NearOptions(Options):
    """Near memory."""

    near: str | DeviceProfile
    """The memory the program was profiled in: a file of `nearfar measure`, or a library device."""


@dataclass(frozen=True, kw_only=True)
class FarsOptions(Options):
    """Far memories."""

    far: Sequence[str | DeviceProfile]
    """A library device (`nearfar device list`) or a device file; repeat for several, ``all`` for
    the whole library."""


@dataclass(frozen=True, kw_only=True)
class HostOptions(Options):
    """Conversion of published latencies."""

    host: HostRule = "added"
    """How a latency published on another machine is converted to this machine. added: near latency
    here plus the difference between far memory and local DRAM there. ratio: near latency here times
    far over local DRAM there. published: as published. The interval spans all three; what was
    measured on this machine is not converted."""


@dataclass(frozen=True, kw_only=True)
class PagesOptions(Options):
    """Page size."""

    pages: str | None = None
    """Size of the program's pages: 4KiB, 2MiB. Default: 2MiB where the machine that --near was
    measured on gives huge pages to every program, else 4KiB."""


@dataclass(frozen=True, kw_only=True)
class InterferenceOptions(Options):
    """Measured interference between memories."""

    machine: Path | MachineProfile | None = None
    """File that `nearfar machine --measure` wrote: says which memories slow each other down, and
    what the core holds in flight."""


@dataclass(frozen=True, kw_only=True)
class CoreOptions(Options):
    """The processor's core."""

    core: str | None = None
    """The core that the model `window` simulates: a name such as zen-4 or skylake-sp, a TOML file,
    or a machine profile with a measured core. Default: that of --machine, else the library's for
    this processor; if it has none, the interval spans all cores of the library."""


@dataclass(frozen=True, kw_only=True)
class ProgramOptions(Options):
    """A program to run."""

    command: Annotated[Sequence[str], Option(position="rest", any_text=True)] = ()
    """The program and its arguments, after `--`."""

    EXAMPLE: ClassVar[str]
    """Command line that names a program."""

    def check_options(self) -> None:
        """Refuse a command without a program, or with an unknown option in its place."""
        if not self.command:
            raise CommandError(f"name the program: {self.EXAMPLE}")
        if self.command[0].startswith("-"):
            raise CommandError(f"there is no option {self.command[0]}; the program comes after --")


@dataclass(frozen=True, kw_only=True)
class DriverOptions(Options):
    """Driver of a program, and how long it runs."""

    driver: str | None = None
    """Shell command that gives the program its work, such as a server's client: it starts with the
    program, and the program is stopped when it ends."""
    duration: Annotated[str | None, Option(any_text=True)] = None
    """Stop the program (SIGTERM) after this long, such as 10s or 500ms: for servers."""

    def check_options(self) -> None:
        """Refuse an empty driver."""
        super().check_options()
        if self.driver is not None and not self.driver.strip():
            raise CommandError("--driver is empty: write the command that gives the program work")

"""Options of `device list`, `show`, `compare`, `plot` and `import`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from nearfar.base.errors import CommandError
from nearfar.options.option import Option, Options


@dataclass(frozen=True, kw_only=True)
class ShowDeviceOptions(Options):
    """Options of `device show`."""

    device: Annotated[str, Option(position="first")]
    """Name in the library, or path of a .toml or .json file."""
    toml: bool = False
    """Print it as TOML, to be changed and used by its path."""


@dataclass(frozen=True, kw_only=True)
class CompareDevicesOptions(Options):
    """Options of `device compare`."""

    first: Annotated[str, Option(position="first")]
    """Name or path; the base of the ratios."""
    others: Annotated[Sequence[str], Option(position="rest")] = ()
    """Names or paths. Without any: the three closest devices of the library are compared."""


@dataclass(frozen=True, kw_only=True)
class PlotDevicesOptions(Options):
    """Options of `device plot`."""

    devices: Annotated[Sequence[str], Option(position="rest")] = ()
    """Names or paths."""
    output: Annotated[Path, Option(short="-o")]
    """Picture to write: .png, .svg or .pdf."""
    read_share: float = 1.0
    """With several devices: reads over all traffic, 0 to 1; the nearest curve of each is drawn."""
    figures: str | None = None
    """With one device: only these, such as latency,loaded. Kinds: latency, chains, bandwidth,
    plane, loaded, tails, splits, evidence."""
    machine: Path | None = None
    """With one device: machine profile whose competing copies (`nearfar machine --measure`) are
    drawn too."""

    def check_options(self) -> None:
        """Refuse a command without devices, and options for one device with several."""
        if not self.devices:
            raise CommandError("name at least one device to draw; `nearfar device list` shows them")
        if not 0 <= self.read_share <= 1:
            raise CommandError(f"--read-share must be between 0 and 1, not {self.read_share:g}")
        if len(self.devices) > 1 and (self.figures is not None or self.machine is not None):
            raise CommandError(
                "--figures and --machine are for a picture of one device; several are drawn as "
                "latency under load"
            )

    def kinds(self) -> list[str]:
        """Return the kinds of picture that --figures names."""
        return (
            [kind.strip() for kind in self.figures.split(",")] if self.figures is not None else []
        )

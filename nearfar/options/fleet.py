"""Options of `fleet`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from nearfar.base.errors import CommandError
from nearfar.options.option import Option, Options
from nearfar.options.place import Judge
from nearfar.options.shared import DeliveryOptions


@dataclass(frozen=True, kw_only=True)
class FleetOptions(Options):
    """Options of `fleet`."""

    profiles: Annotated[Sequence[str], Option(position="rest")] = ()
    """Profiles that `nearfar profile` wrote on many hosts: files, folders, or locations such as
    s3://bucket/folder."""
    near: str
    """The memory the programs were profiled in: a file of `nearfar measure`, or a library
    device."""
    far: str
    """A library device (`nearfar device list`) or a device file; also one that is moved in pages
    (zram, swap)."""
    beside: Sequence[str] = ()
    """Another far memory, whose savings at the same limits are shown beside; repeat for several."""
    hosts: Path | None = None
    """TOML with types of hosts, prices and stock: docs/fleet.md. Default: types are processors,
    near memory costs five times far memory."""
    slo: Sequence[str] = ()
    """The greatest slowdown of any program, such as 1.10; repeat for several. Default: 1.02, 1.05,
    1.10 and 1.20."""
    slo_by: Judge = "value"
    """Which number of each program must keep the limits: its predicted slowdown (value), or the
    high end of its interval (high)."""
    mixes: int = 1
    """How many different shares of far memory the hosts of one type may have, besides none."""
    leave_out_bad: bool = False
    """Leave out and count files that are no profile, of another version, or contradict others."""
    cache: Path | None = None
    """Folder for what was read from each profile. Default: nearfar/fleet in $XDG_CACHE_HOME or
    ~/.cache."""

    def check_options(self) -> None:
        """Refuse a number of mixes below 1."""
        if self.mixes < 1:
            raise CommandError(f"--mixes must be at least 1, not {self.mixes}")


@dataclass(frozen=True, kw_only=True)
class FleetFiles(DeliveryOptions):
    """Where a fleet's result goes."""

    html: Path | None = None
    """File to write a page to."""

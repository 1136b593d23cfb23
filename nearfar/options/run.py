"""Options of `run`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from nearfar.base.errors import CommandError
from nearfar.options.option import Option
from nearfar.options.shared import DeliveryOptions, DriverOptions

if TYPE_CHECKING:
    from nearfar.documents import Plan


@dataclass(frozen=True, kw_only=True)
class RunOptions(DriverOptions):
    """Options of `run`."""

    plan: Annotated[Path | Plan | None, Option(position="none")] = None
    """The plan of `nearfar place`; None with `policy`."""
    program: Annotated[Sequence[str], Option(position="rest", any_text=True)] = ()
    """The plan of `nearfar place`, then the program and its arguments, after `--`."""
    map: Sequence[str] = ()
    """Which memory of this machine a memory of the plan is, by the plan's name or its device's:
    far=node:1, optane-100-6dimm=file:/mnt/pmem0, far=devdax:/dev/dax0.0. Repeat for several."""
    adapt: bool = False
    """Move objects, and ranges of them, while the program runs: if the plan has moves, when its
    phases begin, else when their use changes. Between memory nodes only."""
    region: Annotated[str | None, Option(any_text=True)] = None
    """With --adapt: bytes moved by one call; default 2MiB."""
    rate: Annotated[str | None, Option(any_text=True)] = None
    """With --adapt: at most this many bytes moved in a second; default 1GB."""
    hysteresis: Annotated[str | None, Option(any_text=True)] = None
    """With --adapt: how long a phase or a change of use must last before anything moves; default
    200ms."""
    pages: Literal["system", "4KiB", "2MiB"] = "system"
    """Ask the kernel for huge pages (2MiB), or for none (4KiB); system: the kernel's setting."""
    policy: str | None = None
    """A policy of the kernel instead of a plan: interleave, weighted-interleave, preferred,
    tiering, damon."""
    far: str | None = None
    """A paged memory instead of a plan: zram, zswap[:FILE] or swap:FILE|DEVICE. It is set up for
    the run and taken down after it, as root; the kernel sends there what exceeds --near. With a
    plan: --map far=zram."""
    near: Annotated[str | None, Option(any_text=True)] = None
    """With --far: the limit of the program's memory, such as 300MiB, or a share of its peak, such
    as 60%, for which it runs once without a limit."""
    beside_kernel: bool = False
    """With a plan and a paged memory: run the program without the plan at the same limit too, by
    the kernel alone, memory.high alone (control groups version 2) and DAMON's reclaim.
    DAMON's reclaim works on the whole machine meanwhile."""
    yes: bool = False
    """With a paged memory: set it up; without it, only show what would be done."""
    force: bool = False
    """Run even if less than half of the plan's bytes belong to this program."""

    def check_options(self) -> None:
        """Refuse options without the one they belong to."""
        paces = {
            "--region": self.region,
            "--rate": self.rate,
            "--hysteresis": self.hysteresis,
        }
        unused = [flag for flag, value in paces.items() if value is not None]
        if unused and not self.adapt:
            raise CommandError(
                "without --adapt nothing moves while the program runs: add it, or leave out "
                f"{' and '.join(unused)}"
            )
        if (self.far is None) != (self.near is None):
            raise CommandError("--far and --near belong together: --far zram --near 60%")
        paged = self.paged_map
        if self.yes and self.far is None and paged is None:
            raise CommandError("--yes is for --far or --map far=zram: nothing else is set up")
        if self.beside_kernel and paged is None:
            raise CommandError(
                "--beside-kernel compares a plan in paged memory: add --map far=zram"
            )
        self._check_alone()

    @property
    def paged_map(self) -> str | None:
        """The paged memory that `map` names; None: none."""
        specs = (text.partition("=")[2] for text in self.map)
        kinds = ("zram", "zswap", "swap")
        return next((spec for spec in specs if re.split("[:,]", spec)[0] in kinds), None)

    def _check_alone(self) -> None:
        """Refuse a plan's options where there is none."""
        planned = self.plan is not None or self.map or self.adapt or self.force
        if self.policy is not None and (planned or self.pages != "system"):
            raise CommandError(
                "--policy leaves the data to the kernel: leave out the plan, --map, --adapt, "
                "--force and --pages"
            )
        if self.far is not None and (planned or self.policy or self.pages != "system"):
            raise CommandError(
                "--far limits memory without a plan: leave out the plan, --map, --adapt, --force, "
                "--policy and --pages"
            )


@dataclass(frozen=True, kw_only=True)
class RunRecordFiles(DeliveryOptions):
    """Where the record of a run goes."""

    prometheus: Path | None = None
    """Also write the record's numbers to this file in Prometheus' text format, for the textfile
    collector of node_exporter (NAME.prom)."""

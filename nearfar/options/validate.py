"""Options of `validate`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from nearfar.base.errors import CommandError
from nearfar.options.option import Option, Options
from nearfar.options.shared import DeliveryOptions

Cores = Literal["apart", "together"]
"""Whether the CPUs are to share a last-level cache. A core that stands in for far memory by loading
memory takes cache from a program where both share one, and least where they are apart."""


@dataclass(frozen=True, kw_only=True)
class ValidateOptions(Options):
    """Options of `validate`."""

    program: Annotated[Sequence[str], Option(position="rest", any_text=True)] = ()
    """After ``--``: a program built by `nearfar cc` and its arguments, run in both memories without
    input; separate several by further ``--``."""
    far: str = ""
    """The far memory, such as node:1, file:/mnt/pmem0, devdax:/dev/dax0.0 (overwritten) or
    dram,pages=4k,load=store. Default: another NUMA node, else a DAX file system, else
    dram,pages=4k,load=store, slower by page walks and a contending core. Or a paged memory (zram,
    zswap, swap:FILE), at limits of 75, 50 and 25 % of the memory of each program."""
    near: str = "dram,pages=thp"
    """The near memory."""
    quick: bool = False
    """Fewer rounds and smaller data; about three minutes."""
    only: str | None = None
    """Only these kernels, separated by commas; `list` lists them."""
    size: str | None = None
    """Data of each kernel, such as 256MiB. Default: 8 times the last-level cache, with --quick
    4."""
    rounds: Annotated[int | None, Option(low=2, high=1000)] = None
    """Rounds of each kernel; a round is near, far, far, near. Programs have a third as many.
    Default: 15, with --quick 3."""
    cores: Cores | None = None
    """Use only samples during which both CPUs share a last-level cache (together) or do not
    (apart); for virtual machines. Default: all; only samples of one pairing are compared."""
    yes: bool = False
    """With a paged --far: set its swap up for the session; without it, only show how."""
    learn: bool = False
    """Add every result to the store."""
    store: Path | None = None
    """The file of --learn. Default: nearfar/validation.jsonl in the user's data folder."""
    pool: Annotated[Sequence[Path], Option(consume=True)] = ()
    """Measure nothing: judge the sessions of these stores and reports together."""
    again: bool = False
    """With --pool: predict their runs again with the models of this version."""

    def check_options(self) -> None:
        """Refuse options that exclude each other."""
        kernels = self.only or self.quick or self.size or self.rounds
        memories = self.far or self.near != ValidateOptions.near or self.cores
        measures = bool(self.program or self.learn or kernels or memories)
        if self.pool and measures:
            raise CommandError("--pool measures nothing: leave programs and other options out")
        self._check_paged()
        if self.again and not self.pool:
            raise CommandError("--again predicts kept runs: name them with --pool")
        if self.store is not None and not self.learn:
            raise CommandError("--store is where --learn keeps results: add --learn")

    @property
    def paged(self) -> bool:
        """Whether the far memory is moved in pages."""
        return re.split("[:,]", self.far)[0] in ("zram", "zswap", "swap")

    def _check_paged(self) -> None:
        """Refuse what sessions in a paged memory do not know."""
        if self.yes and not self.paged:
            raise CommandError(
                "--yes applies only to a paged --far, such as zram: nothing else is set up"
            )
        other = self.near != ValidateOptions.near or self.cores or self.learn
        if self.paged and other:
            raise CommandError(
                f"--far {self.far} limits a program's memory: leave out --near, --cores, --learn"
            )

    def programs(self) -> list[list[str]]:
        """Return the commands between further ``--``."""
        commands: list[list[str]] = [[]]
        for word in self.program:
            if word == "--":
                commands.append([])
            else:
                commands[-1].append(word)
        return [command for command in commands if command]


@dataclass(frozen=True, kw_only=True)
class ValidationFiles(DeliveryOptions):
    """Where a validation report goes."""

    plot: Path | None = None
    """Draw predicted against measured slowdown to this .png, .svg or .pdf."""

"""Options of `machine`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from nearfar.base.errors import CommandError
from nearfar.options.option import Option, Options
from nearfar.options.shared import JsonOptions


@dataclass(frozen=True, kw_only=True)
class RootOptions(Options):
    """The machine that is shown or checked."""

    root: Path = Path("/")
    """Folder that holds sys and proc: / for this machine, or a tree captured from another."""


@dataclass(frozen=True, kw_only=True)
class MachineOptions(RootOptions):
    """Options of `machine`."""

    measure: bool = False
    """Also measure latency and read bandwidth of every node's memory from every node with CPUs
    (about 3 s a pair), the time of a cache line from CPU to CPU (all pairs, or 300 of them: up to
    30 s), and the processor's core (about 40 s; `nearfar measure core` alone)."""
    joint: Sequence[str] = ()
    """Two memories with a comma between, such as dram,node:1 or dram,file:/mnt/pmem0: measure their
    bandwidths together, for every split of the threads, which shows whether they share channels (up
    to 60 s). Repeat for several pairs; with --measure."""

    def check_options(self) -> None:
        """Refuse to measure a captured machine."""
        if self.joint and not self.measure:
            raise CommandError("--joint needs --measure: nearfar machine --measure --joint A,B")
        if self.measure and self.root.resolve() != Path("/"):
            raise CommandError(
                f"--measure measures this machine, but {self.root} is a captured one"
            )


@dataclass(frozen=True, kw_only=True)
class MachineModes(JsonOptions):
    """Views of a machine, and where they go."""

    check: bool = False
    """Check everything that far memory needs: nodes, tiers, firmware, health, regions, mounts,
    kernel, container. Print what works, what is missing, what that costs, and the command that
    fixes it; exit code 1 if something is missing."""
    bug_report: bool = False
    """Gather what a maintainer would ask for, as Markdown: versions, machine, findings, without
    names, addresses, identifiers or unrelated variables. Read it before you send it."""
    json: bool = False
    """Print the result as JSON: sizes in bytes, latencies in ns, bandwidths in GB/s (1e9 B/s)."""
    output: Annotated[Path | None, Option(short="-o")] = None
    """File to write the machine profile, or with --check the findings, to (JSON)."""

    def check_options(self) -> None:
        """Refuse a bug report as JSON."""
        if self.bug_report and (self.check or self.json):
            raise CommandError(
                "--bug-report takes no other options: it includes the machine and its check"
            )


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(RootOptions):
    """Options of `machine convert`."""

    device: Annotated[str | None, Option(position="first")] = None
    """Device to convert: namespace0.0, pmem0, dax0.0 or region0. Not needed if there is only one,
    nor for app-direct, memory-mode, mixed and emulated-pmem."""
    to: str | None = None
    """app-direct, memory-mode, mixed:N% (Optane modules, over a reboot); fsdax, devdax, system-ram
    (one device); emulated-pmem:SIZE (DRAM set aside at boot; 0B gives it back)."""
    destroy: Sequence[str] = ()
    """Name of a namespace or device whose data may be destroyed; repeat for several."""
    yes: bool = False
    """Run the steps instead of printing them. Stops before a reboot, which is left to you."""
    resume: bool = False
    """Continue the conversion that a reboot or an error interrupted."""
    file_system: Literal["ext4", "xfs"] = "ext4"
    """File system to make for fsdax."""
    note: Path | None = None
    """File that keeps a conversion over the reboot. Default: /var/lib/nearfar/conversion.json."""

    def check_options(self) -> None:
        """Refuse a conversion without a target, or with two."""
        if (self.to is None) != self.resume:
            raise CommandError(
                "name what to convert to (--to fsdax, ...), or continue a conversion by --resume"
            )
        if self.resume and self.device is not None:
            raise CommandError(
                f"--resume continues a conversion, whose device is known: leave {self.device} out"
            )

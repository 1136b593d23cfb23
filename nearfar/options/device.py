"""Options of `device list`, `show`, `compare`, `plot` and `import`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

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
        """Refuse a picture of nothing, and options for one device with several."""
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


@dataclass(frozen=True, kw_only=True)
class ImportDeviceOptions(Options):
    """Options of `device import`."""

    file: Annotated[Path, Option(position="first")]
    """The file; for mess-1 also a folder."""
    more: Annotated[Sequence[Path], Option(position="rest")] = ()
    """More files of the same device and format, such as MLC's logs of other traffic and cores."""
    output: Annotated[Path | None, Option(short="-o")] = None
    """Device profile to write: .toml or .json. Default: the device's name with .toml in this
    folder, unless there is such a file."""
    name: str | None = None
    """Name of the device: lower-case letters, digits, dashes. Default: from the file's name."""
    title: str | None = None
    """One-line description of the device. Default: its name."""
    source: str | None = None
    """Citation of the curve. Default: imported from that file."""
    technology: Literal[
        "dram", "remote-dram", "hbm", "cxl", "pmem", "nvdimm", "emulated", "file", "other"
    ] = "other"
    """Kind of memory."""
    host_dram: str | None = None
    """Local DRAM of the machine that the curve was measured on: a library device or a device file.
    Predictions then add the difference to the local DRAM here. Default: not known, latencies stay
    as published."""
    where: str = ""
    """Table, figure or file in the source."""
    licence: str = ""
    """Licence of the data, as its publisher states it."""
    how: Literal["measured", "published"] = "published"
    """Whether the curve was measured on this machine or published."""
    bandwidth_unit: str | None = None
    """Unit of a bandwidth column that names none: GB/s, MB/s, KB/s, B/s, GiB/s, MiB/s."""
    latency_unit: str | None = None
    """Unit of a latency column that names none: ns, us, ps, or cycles@2.1GHz."""
    read_share: float | None = None
    """Reads over all traffic of every row, 0 to 1, for a file without such a column. Default:
    1."""
    shares: str | None = None
    """Read shares to keep of a file with many, such as 1,0.75,0.5; the nearest are used."""
    max_points: int = 30
    """Points kept of each curve, at least 8."""
    format_: str | None = None
    """The file's format. Default: recognised from the file."""
    nodes: str | None = None
    """CPU node and memory node in MLC's matrices, such as 0:1; of logs of several memories, the
    memory node. Default: 0:0, or the only memory."""

    def check_options(self) -> None:
        """Refuse nodes and shares that cannot be read."""
        self.node_pair()
        self.read_shares()

    def node_pair(self) -> tuple[int, int] | None:
        """Return the CPU node and the memory node; None where --nodes is not given."""
        if self.nodes is None:
            return None
        cpu, _, memory = self.nodes.partition(":")
        if not (cpu.isdigit() and memory.isdigit()):
            raise CommandError(
                f"--nodes must be a CPU node and a memory node such as 0:1, not {self.nodes}"
            )
        return int(cpu), int(memory)

    def read_shares(self) -> tuple[float, ...]:
        """Return the read shares to keep; empty: all."""
        if self.shares is None:
            return ()
        try:
            shares = tuple(float(part) for part in self.shares.split(","))
        except ValueError:
            shares = (-1.0,)
        if not all(0 <= share <= 1 for share in shares):
            raise CommandError(
                f"--shares must be numbers from 0 to 1 such as 1,0.75,0.5, not {self.shares!r}"
            )
        return shares

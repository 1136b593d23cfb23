"""Options of `counters import`, `counters record` and `device import`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from nearfar.base.errors import CommandError
from nearfar.options.option import Option, Options
from nearfar.options.shared import JsonOptions, ProgramOptions


@dataclass(frozen=True, kw_only=True)
class CounterFiles(JsonOptions):
    """Where a counter profile goes."""

    output: Annotated[Path, Option(short="-o")] = Path("counters.json")
    """File to write the counter profile to."""


@dataclass(frozen=True, kw_only=True)
class ImportCountersOptions(Options):
    """Options of `counters import`."""

    file: Annotated[Path, Option(position="first")]
    """File that the tool wrote."""
    format_: Literal["perf", "pcm", "likwid", "csv"] | None = None
    """The tool; by default recognised from the file."""
    cumulative: bool = False
    """The counts in a plain CSV are since the start of the run, not since the previous line."""
    size: Sequence[str] = ()
    """Size the program was run at, such as n=1e5; repeat for several. `nearfar predict` fits
    counters of several sizes."""


@dataclass(frozen=True, kw_only=True)
class RecordCountersOptions(ProgramOptions):
    """Options of `counters record`."""

    EXAMPLE: ClassVar[str] = "nearfar counters record -- PROGRAM ARGS"

    interval: int = 1000
    """Length of an interval in ms, 10 or more."""
    size: Sequence[str] = ()
    """Size the program is run at, such as n=1e5; repeat for several."""


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

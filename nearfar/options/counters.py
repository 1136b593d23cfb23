"""Options of `counters import` and `counters record`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

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

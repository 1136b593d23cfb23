"""Stand-in programs: the cases that each represents, and how it is built, sized and profiled.

There is one TOML file per program in `programs/hardware`. Its data and the last-level cache are
smaller than the source's by the same factor, so shares of misses are the same; near time per
operation is the source's.
"""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from nearfar.base.errors import NearfarError
from nearfar.documents import WorkloadProfile, load
from nearfar.native_files import include_folder
from nearfar_studies.applications import nearfar
from nearfar_studies.hardware.cases import MemoryCase
from nearfar_studies.hardware.checks import SourceFigure, read_figures

FOLDER = Path(__file__).parents[1] / "programs" / "hardware"
PHASE = "run"
WAYS = 16
MIN_PLANES = 8
"""Minimum number of rows or planes in a part of a grid: a stencil must reach its neighbours."""

GB = 1.0465e9
"""Bytes of "1 GB" in the study of NPB and PolyBench: 16 N^2 over its GB of jacobi-2d."""

MIN_LLC_BYTES = 256 << 10
"""Smallest last-level cache that is simulated: in a smaller one a program's few hot lines would
miss."""


@dataclass(frozen=True)
class StandInInput:
    """One input of a stand-in program; figures are of the source's run unless stated otherwise."""

    arguments: tuple[str, ...]
    """Arguments of the stand-in program."""
    data_bytes: float | None
    """Size of the source's data; None if no near memory caches them."""
    llc_shrink: float
    """Size of the source's last-level cache divided by that of the simulated one."""
    operations: float | None
    """Number of operations in the source's run, whose near time is given."""
    rate_per_operation: float | None
    """Amount of the source's unit of rate per operation."""
    near_ns_per_operation: float | None
    """Assumed CPU time of an operation if the source gives no near time."""
    threads: int | None
    """Threads if the source does not state them; None: as many as a socket has cores."""
    unmoved_seconds: float
    """Part of the source's near time that memory does not change, s."""
    assumed: str


@dataclass(frozen=True)
class StandIn:
    """One stand-in program."""

    name: str
    title: str
    source: str
    code: str
    programs: tuple[str, ...]
    """Names, as in cases, of the programs that it represents."""
    inputs: tuple[dict[str, Any], ...]
    placements: dict[str, dict[str, Any]]
    """Objects that a placement moves, by the placement's text, and `stored_bytes` that only the far
    run stores per operation."""
    figures: tuple[SourceFigure, ...]
    """Properties that its source states."""

    def input_of(self, text: str) -> StandInInput | None:
        """Return the input for a case's text "PROGRAM: INPUT", or None."""
        for entry in self.inputs:
            match = re.search(entry["match"], text)
            if match is not None:
                return _input(entry, match)
        return None


@cache
def stand_ins() -> tuple[StandIn, ...]:
    """Return all stand-in programs."""
    made = []
    for path in sorted(FOLDER.glob("*.toml")):
        document = tomllib.loads(path.read_text())
        made.append(
            StandIn(
                name=path.stem,
                title=document["title"],
                source=document["source"],
                code=document["code"],
                programs=tuple(document["programs"]),
                inputs=tuple(document["inputs"]),
                placements=document.get("placements", {}),
                figures=read_figures(document.get("figures", []), path.name),
            )
        )
    return tuple(made)


def program_of(case: MemoryCase) -> StandIn | None:
    """Return the stand-in program for a case's program, or None."""
    for program in stand_ins():
        if case.program in program.programs:
            return program
    return None


def _input(entry: dict[str, Any], match: re.Match[str]) -> StandInInput:
    words = match.groupdict()
    rate = entry.get("rate_per_operation")
    data_bytes = float(words["gb"]) * GB if "gb" in words else None
    if "part" in entry:
        size = int(words["n"])
        part = _part(size, entry["part"], entry["points"])
        words |= {name: str(count) for name, count in zip("xyz", part, strict=False)}
        if "bytes_per_point" in entry:
            data_bytes = entry["bytes_per_point"] * float(size) ** len(part)
        if "rate_by_size" in entry:
            rate = sum(factor / size**power for power, factor in enumerate(entry["rate_by_size"]))
    return StandInInput(
        arguments=tuple(argument.format(**words) for argument in entry["arguments"]),
        data_bytes=data_bytes,
        llc_shrink=float(entry.get("llc_shrink", 1.0)),
        operations=entry.get("operations"),
        rate_per_operation=rate,
        near_ns_per_operation=entry.get("near_ns_per_operation"),
        threads=entry.get("threads"),
        unmoved_seconds=float(entry.get("unmoved_seconds", 0.0)),
        assumed=entry.get("assumed", ""),
    )


def _part(size: int, divided_by: list[int], points: int) -> list[int]:
    """Return the sides of one process's part of a grid whose sides have `size` points.

    The last side is shortened until the part has about `points` points.
    """
    *sides, last = (max(round(size / by), 2) for by in divided_by)
    return [*sides, min(last, max(round(points / math.prod(sides)), MIN_PLANES))]


class Profiler:
    """Builds stand-in programs and profiles them in a folder; each combination once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)

    def profile(
        self, program: StandIn, kind: StandInInput, llc_bytes: float, *, bursts: bool
    ) -> WorkloadProfile:
        """Return the profile of one input, for a source whose last-level cache has `llc_bytes`.

        Raises NearfarError if it cannot be built or run here.
        """
        llc = max(round(llc_bytes / kind.llc_shrink), MIN_LLC_BYTES) >> 16 << 16
        arguments = "-".join(kind.arguments).replace("/", "")
        ending = "bursts.json" if bursts else "json"
        path = self.folder / f"{program.name}-{arguments}-{llc >> 10}KiB.{ending}"
        if not path.is_file():
            built = self._built(program)
            options = ["--llc", f"{llc}B", "--ways", str(WAYS), "--repetitions", "1"]
            options += ["--bursts", "--sample", "300s"] if bursts else []
            options += ["--quiet", "-o", str(path)]
            nearfar("profile", *options, "--", str(built), *kind.arguments)
        return load(path, WorkloadProfile)

    def _built(self, program: StandIn) -> Path:
        built = self.folder / program.name
        source = FOLDER / program.code
        if not source.is_file():
            raise NearfarError(f"the stand-in program {program.name} has no source {source}")
        if not built.is_file():
            flags = ["-O2", "-std=c++20", f"-I{include_folder()}", f"-I{FOLDER}"]
            nearfar("c++", *flags, str(source), "-o", str(built))
        return built

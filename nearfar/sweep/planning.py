"""Plan a sweep: a file in, all its points out. Imports nothing that computes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from nearfar.points.commanded import CommandedPoint, check_processors
from nearfar.points.inputs import InputReader, PointInputs
from nearfar.points.kind import decode_point
from nearfar.sweep.expand import Matrix, expand
from nearfar.sweep.file import read_sweep_file


@dataclass(frozen=True)
class PlannedSweep:
    """A sweep before it runs."""

    file: Path
    text: str
    matrix: Matrix
    inputs: PointInputs


def plan(path: Path) -> PlannedSweep:
    """Return all points of a sweep file; NearfarError for one that cannot exist."""
    file = read_sweep_file(path)
    reader = InputReader(path.absolute().parent)
    matrix = expand(file, reader)
    return PlannedSweep(path, file.text, matrix, reader.inputs())


def check_here(planned: PlannedSweep) -> None:
    """Refuse points that cannot be measured on this machine."""
    for point in planned.matrix.points.values():
        if point.measured:
            commanded = decode_point(point.kind, msgspec.json.decode(point.parameters))
            assert isinstance(commanded, CommandedPoint)
            check_processors(commanded.cpus)

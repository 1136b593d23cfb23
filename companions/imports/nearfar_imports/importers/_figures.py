"""Options and result of an importer, and checks of the numbers that it reads."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nearfar.base.errors import NearfarError
from nearfar.base.files import read_bytes
from nearfar.devices.load_order import by_load
from nearfar.devices.oddities import Point
from nearfar.documents.device import (
    How,
)
from nearfar_imports.bad_rows import BadRows
from nearfar_imports.import_curve import (
    ImportedFigures,
    Units,
    check_point,
    curves_of,
    rounded,
    usable_families,
)
from nearfar_imports.thin import MAX_POINTS

__all__ = ["SOURCE", "ImportOptions", "ImportedFigures", "Importer", "add_curves", "checked"]
__all__ += ["json_of", "number", "refuse", "text_of"]

SOURCE = "import"
"""Key of the one source of an imported device."""


@dataclass(frozen=True)
class ImportOptions:
    """Options of the command line for an import."""

    units: Units = field(default_factory=Units)
    shares: tuple[float, ...] = ()
    max_points: int = MAX_POINTS
    how: How = "published"
    nodes: tuple[int, int] | None = None
    """CPU node and memory node of outputs with a matrix or of several memories; None: 0 and 0, or
    the only memory."""


@dataclass(frozen=True)
class Importer:
    """One file format."""

    title: str
    """Tool and kind of output."""
    detects: Callable[[Path, str], bool]
    """Returns whether a file is of this format, by its path and text ("" for a folder)."""
    read: Callable[[Path, ImportOptions], ImportedFigures]
    read_many: Callable[[list[Path], ImportOptions], ImportedFigures] | None = None
    """Function that reads several files as runs on one memory; None: each file's figures are
    added."""


def text_of(path: Path) -> str:
    """Return the text of `path`, or refuse a binary file."""
    try:
        return read_bytes(path, "file").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NearfarError(f"cannot import {path}: it is not text in UTF-8") from error


def json_of(path: Path) -> Any:
    """Return the JSON value in `path`, or refuse a file that is not valid JSON."""
    try:
        return json.loads(text_of(path))
    except json.JSONDecodeError as error:
        raise NearfarError(
            f"{path}:{error.lineno}: not valid JSON: {error.msg}; is it cut short?"
        ) from error


def refuse(path: Path, line: int, reason: str) -> NearfarError:
    """Return the error for one line."""
    return NearfarError(f"{path}:{line}: {reason}")


def number(path: Path, line: int, name: str, text: str) -> float:
    """Return `text` as a positive finite number, or refuse the line."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise refuse(path, line, f"{name} is {text!r}, not a positive number")
    return value


def add_curves(
    imported: ImportedFigures,
    path: Path,
    families: dict[float, list[Point]],
    options: ImportOptions,
    note: str = "",
    *,
    bad: BadRows | None = None,
    by_delay: bool = False,
) -> None:
    """Add the usable points of `families`, their idle latency and best bandwidths to `imported`.

    `bad` has counted the rows. The points are put in order of load, unless `by_delay` states that
    they are in it.
    """
    bad = BadRows() if bad is None else bad
    bad.rows = max(bad.rows, sum(map(len, families.values())))
    families = {share: [rounded(point) for point in points] for share, points in families.items()}
    if not by_delay:
        families = {share: by_load(points) for share, points in families.items()}
    families = usable_families(path, families, bad)
    imported.notes += bad.notes(path)
    curves = curves_of(
        families,
        SOURCE,
        how=options.how,
        shares=options.shares,
        max_points=options.max_points,
        note=note,
    )
    imported.latency += curves.latency
    imported.bandwidth += curves.bandwidth
    imported.loaded_latency += curves.loaded_latency
    if len(curves.loaded_latency) < len(families):
        imported.notes.append(
            f"{len(curves.loaded_latency)} of {len(families)} curves were kept (--shares)"
        )


def checked(path: Path, line: int, point: Point) -> Point:
    """Return `point` (GB/s, ns) if it is possible, or refuse the line."""
    check_point(f"{path}:{line}", point)
    return point

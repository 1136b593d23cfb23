"""Families as JSON, ``{"<read %>": [[bandwidth, latency], ...]}``: Mess 2.0 and PROFET.

Mess 2.0 writes GB/s and ns, PROFET MB/s and CPU cycles. The file does not state the units:
bandwidths above `MAX_GB_PER_S` are in MB/s, and cycles need ``--latency-unit cycles@2.3GHz``.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from nearfar.base.errors import NearfarError
from nearfar.devices.oddities import Point
from nearfar_imports.bad_rows import BadRows
from nearfar_imports.csv_columns import bandwidth_factor, latency_factor
from nearfar_imports.importers._figures import (
    ImportedFigures,
    Importer,
    ImportOptions,
    add_curves,
    checked,
    json_of,
)
from nearfar_imports.importers._registry import IMPORTERS

MAX_GB_PER_S = 9000.0
"""Above the fastest accelerator's memory (8 TB/s) and below the slowest server DRAM in MB/s."""


def _detects(_path: Path, text: str) -> bool:
    if not text.lstrip().startswith("{"):
        return False
    try:
        return _is_family(json.loads(text))
    except ValueError:
        # Cut short: detected by its first key, so that the reader reports where it ends.
        first = text.lstrip()[1:].lstrip()[:12]
        return first.startswith('"') and first[1:].split('"')[0].isdigit()


def _is_family(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and bool(value)
        and all(key.replace(".", "", 1).isdigit() for key in value)
        and all(isinstance(points, list) for points in value.values())
    )


def _read(path: Path, options: ImportOptions) -> ImportedFigures:
    value = json_of(path)
    if not _is_family(value):
        raise NearfarError(f"{path} is not an object of read percentages to lists of points")
    imported = ImportedFigures()
    factors = _units(path, value, options, imported)
    families: dict[float, list[Point]] = {}
    bad = BadRows()
    for key, points in value.items():
        share = round(float(key) / 100, 4)
        if share > 1:
            raise NearfarError(f"{path}: the key {key!r} is a read share above 100%")
        families[share] = []
        for index, point in enumerate(points):
            with bad.row():
                families[share].append(checked_pair(path, key, index, point, factors))
    add_curves(imported, path, families, options, bad=bad)
    return imported


def checked_pair(
    path: Path, key: str, index: int, point: Any, factors: tuple[float, float]
) -> Point:
    """Return one point in GB/s and ns, or refuse it by its key and index."""
    if (
        not isinstance(point, list)
        or len(point) != 2
        or not all(isinstance(value, int | float) and math.isfinite(value) for value in point)
    ):
        raise NearfarError(f'{path}: point {index + 1} of "{key}" is not two numbers: {point!r}')
    try:
        return checked(path, 0, (point[0] * factors[0], point[1] * factors[1]))
    except NearfarError as error:
        sentence = str(error).removeprefix(f"{path}:0: ")
        raise NearfarError(f'{path}: point {index + 1} of "{key}": {sentence}') from error


def _units(
    path: Path, value: dict[str, Any], options: ImportOptions, imported: ImportedFigures
) -> tuple[float, float]:
    numbers = [
        point[0]
        for points in value.values()
        for point in points
        if isinstance(point, list) and point and isinstance(point[0], int | float)
    ]
    in_mb = max(numbers, default=0) > MAX_GB_PER_S
    unit = options.units.bandwidth or ("MB/s" if in_mb else "GB/s")
    if options.units.latency is not None:
        return bandwidth_factor(unit), latency_factor(options.units.latency)
    if in_mb:
        raise NearfarError(
            f"{path} looks like PROFET's (MB/s and CPU cycles): give the frequency, such as "
            "--latency-unit cycles@2.3GHz"
        )
    imported.notes.append(
        "units are assumed to be Mess 2.0's, GB/s and ns (--bandwidth-unit, --latency-unit)"
    )
    return bandwidth_factor(unit), 1.0


IMPORTERS.register("curves-json")(
    Importer("Mess 2.0 memory_curves.json or PROFET curves.json", _detects, _read)
)

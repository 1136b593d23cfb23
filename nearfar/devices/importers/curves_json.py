"""Families as JSON, ``{"<read %>": [[bandwidth, latency], ...]}``: Mess 2.0 and PROFET.

Mess 2.0 writes GB/s and ns, PROFET MB/s and CPU cycles. The file does not say which: bandwidths
that no memory has in GB/s are MB/s, and cycles need ``--latency-unit cycles@2.3GHz``.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from nearfar.base.errors import NearfarError
from nearfar.devices.import_curve import bandwidth_factor, latency_factor
from nearfar.devices.importers._found import (
    Found,
    Importer,
    Options,
    add_curves,
    checked,
    text_of,
)
from nearfar.devices.importers._registry import IMPORTERS
from nearfar.devices.oddities import Point

MOST_GB_PER_S = 9000.0
"""Above the fastest accelerator's memory (8 TB/s) and below the slowest server DRAM in MB/s."""


def _detects(_path: Path, text: str) -> bool:
    if not text.lstrip().startswith("{"):
        return False
    try:
        return _is_family(json.loads(text))
    except ValueError:
        # Cut short: recognised by its first key, so that reading says where it ends.
        first = text.lstrip()[1:].lstrip()[:12]
        return first.startswith('"') and first[1:].split('"')[0].isdigit()


def _is_family(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and bool(value)
        and all(key.replace(".", "", 1).isdigit() for key in value)
        and all(isinstance(points, list) for points in value.values())
    )


def _read(path: Path, options: Options) -> Found:
    try:
        value = json.loads(text_of(path))
    except json.JSONDecodeError as error:
        raise NearfarError(
            f"{path}:{error.lineno}: not whole JSON: {error.msg}; is it cut short?"
        ) from error
    if not _is_family(value):
        raise NearfarError(f"{path} is not an object of read percentages to lists of points")
    found = Found()
    factors = _units(path, value, options, found)
    families: dict[float, list[Point]] = {}
    for key, points in value.items():
        share = round(float(key) / 100, 4)
        if share > 1:
            raise NearfarError(f"{path}: the key {key!r} says a read share above 100%")
        families[share] = [
            checked_pair(path, key, index, point, factors) for index, point in enumerate(points)
        ]
    add_curves(found, path, families, options)
    return found


def checked_pair(
    path: Path, key: str, index: int, point: Any, factors: tuple[float, float]
) -> Point:
    """Return one point in GB/s and ns, or refuse it by its key and place."""
    if (
        not isinstance(point, list)
        or len(point) != 2
        or not all(isinstance(one, int | float) and math.isfinite(one) for one in point)
    ):
        raise NearfarError(f'{path}: point {index + 1} of "{key}" is not two numbers: {point!r}')
    try:
        return checked(path, 0, (point[0] * factors[0], point[1] * factors[1]))
    except NearfarError as error:
        sentence = str(error).removeprefix(f"{path}:0: ")
        raise NearfarError(f'{path}: point {index + 1} of "{key}": {sentence}') from error


def _units(
    path: Path, value: dict[str, Any], options: Options, found: Found
) -> tuple[float, float]:
    numbers = [
        point[0]
        for points in value.values()
        for point in points
        if isinstance(point, list) and point and isinstance(point[0], int | float)
    ]
    in_mb = max(numbers, default=0) > MOST_GB_PER_S
    unit = options.units.bandwidth or ("MB/s" if in_mb else "GB/s")
    if options.units.latency is not None:
        return bandwidth_factor(unit), latency_factor(options.units.latency)
    if in_mb:
        raise NearfarError(
            f"{path} reads like PROFET's (MB/s and CPU cycles): say at which frequency, such as "
            "--latency-unit cycles@2.3GHz"
        )
    found.notes.append("units are taken as Mess 2.0's, GB/s and ns (--bandwidth-unit, "
                       "--latency-unit)")  # fmt: skip
    return bandwidth_factor(unit), 1.0


IMPORTERS.register("curves-json")(
    Importer("Mess 2.0 memory_curves.json or PROFET curves.json", _detects, _read)
)

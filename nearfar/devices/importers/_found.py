"""What an importer is given and gives, and how it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.base.files import read_bytes
from nearfar.devices.import_curve import (
    Units,
    check_families,
    check_point,
    curves_of,
)
from nearfar.devices.oddities import Point
from nearfar.devices.thin import MAX_POINTS
from nearfar.documents.device import (
    BandwidthFigure,
    How,
    LatencyFigure,
    LoadedLatencyCurve,
)

SOURCE = "import"
"""Key of the one source of an imported device."""


@dataclass(frozen=True)
class Options:
    """What the command line says beyond the file."""

    units: Units = field(default_factory=Units)
    shares: tuple[float, ...] = ()
    max_points: int = MAX_POINTS
    how: How = "published"
    nodes: tuple[int, int] = (0, 0)
    """CPU node and memory node, of outputs that hold a matrix."""


@dataclass
class Found:
    """What a file gives for a device."""

    latency: list[LatencyFigure] = field(default_factory=list)
    bandwidth: list[BandwidthFigure] = field(default_factory=list)
    loaded_latency: list[LoadedLatencyCurve] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What was taken for granted or left out, for whoever imported it."""

    def empty(self) -> bool:
        """Return whether there is no figure."""
        return not (self.latency or self.bandwidth or self.loaded_latency)


@dataclass(frozen=True)
class Importer:
    """One format."""

    title: str
    """The tool, and what of its output is read."""
    detects: Callable[[Path, str], bool]
    """Whether a file is of this format, by its path and its text (of a folder: "")."""
    read: Callable[[Path, Options], Found]


def text_of(path: Path) -> str:
    """Return the text of `path`, or refuse what is no text."""
    try:
        return read_bytes(path, "file").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NearfarError(f"cannot import {path}: it is not text in UTF-8") from error


def refuse(path: Path, line: int, what: str) -> NearfarError:
    """Return the refusal of one line."""
    return NearfarError(f"{path}:{line}: {what}")


def number(path: Path, line: int, what: str, text: str) -> float:
    """Return `text` as a positive finite number, or refuse the line."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise refuse(path, line, f"{what} is {text!r}, not a positive number")
    return value


def add_curves(
    found: Found, path: Path, families: dict[float, list[Point]], options: Options, note: str = ""
) -> None:
    """Check `families` and add them to `found` with what follows: idle latency, best bandwidths."""
    check_families(path, families)
    rounded = {
        share: [(round(gb_per_s, 4), round(ns, 3)) for gb_per_s, ns in points]
        for share, points in families.items()
    }
    curves = curves_of(
        rounded,
        SOURCE,
        how=options.how,
        shares=options.shares,
        max_points=options.max_points,
        note=note,
    )
    found.latency += curves.latency
    found.bandwidth += curves.bandwidth
    found.loaded_latency += curves.loaded_latency
    if len(curves.loaded_latency) < len(families):
        found.notes.append(
            f"{len(curves.loaded_latency)} of {len(families)} curves were kept (--shares)"
        )


def checked(path: Path, line: int, point: Point) -> Point:
    """Return `point` (GB/s, ns) if a memory could have it, or refuse the line."""
    check_point(f"{path}:{line}", point)
    return point

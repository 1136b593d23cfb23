"""Bandwidth-latency curves from CSV: units must be stated, oddities are kept and reported."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.base.files import read_bytes
from nearfar.devices.oddities import Point, detect_oddities
from nearfar.devices.thin import MAX_POINTS, thin
from nearfar.documents.device import (
    BandwidthFigure,
    How,
    LatencyFigure,
    LoadedLatencyCurve,
)

BANDWIDTH_UNITS = {
    "GB/s": 1.0,
    "MB/s": 1e-3,
    "KB/s": 1e-6,
    "B/s": 1e-9,
    "GiB/s": 2**30 / 1e9,
    "MiB/s": 2**20 / 1e9,
}
"""GB/s (1e9 B/s) per unit. Not gb/s or Gbps, which mean bits to some and bytes to others."""

_SPELLINGS = {
    "gb_s": "GB/s",
    "mb_s": "MB/s",
    "gb_per_s": "GB/s",
    "mb_per_s": "MB/s",
    "kb_per_s": "KB/s",
    "b_per_s": "B/s",
    "gib_per_s": "GiB/s",
    "mib_per_s": "MiB/s",
}
_LATENCY_UNITS = {"ns": 1.0, "us": 1e3, "ps": 1e-3}
_CYCLES = re.compile(r"cycles\s*@\s*([0-9.]+)\s*GHz", re.IGNORECASE)

MIN_READ_CURVE_SHARE = 0.95
"""Read share from which a curve's best bandwidth is the read bandwidth: counters see a few writes
even of programs that only read."""

MAX_LATENCY_NS = 1e9
"""1 s: a larger value is in another unit or a typing error."""

MAX_GB_PER_S = 1e5
"""100 TB/s, ten times the bandwidth of any memory: a larger value is in another unit."""

MAX_NEGATIVE_SHARE = 0.02
"""Negative bandwidth that counters may read at idle, over the curve's best: published curves have
up to 0.7 %."""

NO_SHARE = "the read share is not stated: assumed to be all reads"

DEFAULT_SHARES = (1.0, 0.75, 0.5)
"""Read shares kept of a family with many curves if the user names none."""


@dataclass
class ImportedFigures:
    """Figures of a device in a file."""

    latency: list[LatencyFigure] = field(default_factory=list)
    bandwidth: list[BandwidthFigure] = field(default_factory=list)
    loaded_latency: list[LoadedLatencyCurve] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Assumptions and omissions, for the user."""

    def empty(self) -> bool:
        """Return whether there is no figure."""
        return not (self.latency or self.bandwidth or self.loaded_latency)


@dataclass(frozen=True)
class Units:
    """Units given on the command line, for headers without units."""

    bandwidth: str | None = None
    latency: str | None = None
    read_share: float | None = None
    """Read share (0..1) of every row of a file without such a column; None: 1, with a note."""


def read_curves(
    path: Path,
    units: Units,
    source: str,
    *,
    how: How = "published",
    shares: tuple[float, ...] = (),
    max_points: int = MAX_POINTS,
) -> ImportedFigures:
    """Read the family of curves in `path`; figures refer to `source`.

    For each of `shares` the curve of the nearest read share is kept; without any, all of up to five
    curves, else those nearest to 1, 0.75 and 0.5. Each curve keeps the file's order of rows.
    """
    families, shares_stated = _families(path, units)
    return curves_of(
        families,
        source,
        how=how,
        shares=shares,
        max_points=max_points,
        note="" if shares_stated else NO_SHARE,
    )


def curves_of(
    families: dict[float, list[Point]],
    source: str,
    *,
    how: How = "published",
    shares: tuple[float, ...] = (),
    max_points: int = MAX_POINTS,
    note: str = "",
) -> ImportedFigures:
    """Return the curves of `families`, and the idle latency and best bandwidth that they show.

    `families` maps a read share to points (GB/s, ns) in order of load.

    `shares` and `max_points` are as for `read_curves`; every curve gets `note`.
    """
    chosen = _choose(sorted(families), shares)
    curves = [
        LoadedLatencyCurve(
            read_share=share,
            points=(points := thin(families[share], max_points)),
            oddities=detect_oddities(points),
            how=how,
            source=source,
            note="; ".join(
                part for part in (_thinned(len(families[share]), len(points)), note) if part
            ),
        )
        for share in chosen
    ]
    return ImportedFigures(_idle(curves, source), _best(families, chosen, source), curves)


def bandwidth_factor(unit: str) -> float:
    """Return GB/s per `unit`."""
    spelled = _SPELLINGS.get(unit.strip().lower(), unit.strip())
    if spelled not in BANDWIDTH_UNITS:
        raise NearfarError(
            f"the bandwidth unit {unit!r} is not one of {', '.join(BANDWIDTH_UNITS)}; "
            "give it by --bandwidth-unit"
        )
    return BANDWIDTH_UNITS[spelled]


def latency_factor(unit: str) -> float:
    """Return ns per `unit`: ns, us, ps, or cycles at a frequency (``cycles@2.1GHz``)."""
    if unit.strip().lower() in _LATENCY_UNITS:
        return _LATENCY_UNITS[unit.strip().lower()]
    cycles = _CYCLES.fullmatch(unit.strip())
    if cycles is None or float(cycles[1]) <= 0:
        raise NearfarError(
            f"the latency unit {unit!r} is not ns, us, ps or cycles at a frequency such as "
            "cycles@2.1GHz; give it by --latency-unit"
        )
    return 1.0 / float(cycles[1])


def _families(path: Path, units: Units) -> tuple[dict[float, list[Point]], bool]:
    """Return the points (GB/s, ns) by read share, and whether the read shares are stated."""
    rows = _rows(path)
    number, header = next(rows, (1, []))
    missing: list[str] = []
    bandwidth, gb_per_s = _column(header, "bandwidth", units.bandwidth, missing)
    latency, ns = _column(header, "latency", units.latency, missing)
    if missing:
        raise NearfarError(f"{path}:{number}: {', and '.join(missing)}")
    share_column = _share_column(header)
    families: dict[float, list[Point]] = {}
    for number, row in rows:
        if len(row) != len(header):
            raise NearfarError(
                f"{path}:{number}: {len(row)} values, but the header names {len(header)} columns"
            )
        share = 1.0 if units.read_share is None else units.read_share
        if share_column is not None:
            index, scale = share_column
            share = round(finite(path, number, header[index], row[index]) * scale, 4)
        if not 0 <= share <= 1:
            raise NearfarError(f"{path}:{number}: a read share of {share:g} is not in 0..1")
        point = (
            finite(path, number, header[bandwidth], row[bandwidth]) * gb_per_s,
            finite(path, number, header[latency], row[latency]) * ns,
        )
        check_point(f"{path}:{number}", point)
        families.setdefault(share, []).append(rounded(point))
    check_families(path, families)
    return families, share_column is not None or units.read_share is not None


def check_families(path: Path, families: dict[float, list[Point]]) -> None:
    """Refuse families without curves, with a single point, or far below zero."""
    if not families:
        raise NearfarError(f"{path} has no rows of data")
    for share, points in families.items():
        if len(points) < 2:
            raise NearfarError(f"{path}: read share {share:g} has a single point, not a curve")
        lowest, best = min(points)[0], max(points)[0]
        if best <= 0 or lowest < -MAX_NEGATIVE_SHARE * best:
            raise NearfarError(
                f"{path}: a bandwidth of {lowest:g} GB/s is further below zero than counters' "
                f"residue at idle ({MAX_NEGATIVE_SHARE:.0%} of the best, {best:g} GB/s)"
            )


def check_point(where: str, point: Point) -> None:
    """Refuse an impossible point; `check_families` judges bandwidths below zero."""
    bandwidth, latency = point
    if latency <= 0:
        raise NearfarError(f"{where}: a latency of {latency:g} ns is not positive")
    if latency > MAX_LATENCY_NS:
        raise NearfarError(f"{where}: a latency of {latency:g} ns is above 1 s: check the unit")
    if bandwidth > MAX_GB_PER_S:
        raise NearfarError(
            f"{where}: a bandwidth of {bandwidth:g} GB/s is above {MAX_GB_PER_S:g}: check the unit"
        )


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) of every row that is not a comment."""
    try:
        text = read_bytes(path, "curve").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NearfarError(f"cannot read curve {path}: it is not text in UTF-8") from error
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not lines:
        raise NearfarError(f"{path} is empty")
    separator = max(",;\t", key=lines[0][1].count)
    for number, line in lines:
        yield number, [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]


def _column(
    header: list[str], quantity: str, given: str | None, missing: list[str]
) -> tuple[int, float]:
    """Return the index of the `quantity`'s column and its factor to GB/s or ns.

    Adds a clause to `missing` if the column or its unit is missing, so that one sentence can name
    all of them.
    """
    factor = bandwidth_factor if quantity == "bandwidth" else latency_factor
    units = [_unit(name, quantity) for name in header]
    named = [index for index, unit in enumerate(units) if unit is not None]
    if not named:
        missing.append(f"there is no column {quantity!r} (there are: {', '.join(header)})")
        return 0, 1.0
    if given is not None:
        # The option is about a column without a unit, else about the first.
        bare = [index for index in named if not _is_unit(units[index] or "", factor)]
        return (bare or named)[0], factor(given)
    for index in named:
        if _is_unit(units[index] or "", factor):
            return index, factor(units[index] or "")
    missing.append(
        f"the column {header[named[0]]!r} does not state its unit: name it "
        f"{'bandwidth_gb_per_s' if quantity == 'bandwidth' else 'latency_ns'} or give "
        f"--{quantity}-unit"
    )
    return named[0], 1.0


def _unit(name: str, quantity: str) -> str | None:
    """Return the unit in a header's `name`, "" if it has none, None if it is not `quantity`."""
    plain = name.strip().lower()
    if not plain.startswith((quantity, {"bandwidth": "bw", "latency": "lat"}[quantity])):
        return None
    bracket = re.search(r"[\[(]\s*(.+?)\s*[\])]", name)
    if bracket:
        return bracket[1]
    _, _, tail = name.strip().partition("_")
    return tail if tail else ""


def _is_unit(unit: str, factor: object) -> bool:
    try:
        factor(unit)  # type: ignore[operator]
    except NearfarError:
        return False
    return True


def _share_column(header: list[str]) -> tuple[int, float] | None:
    """Return the index of the read-share column and its factor to 0..1, if there is one."""
    for index, name in enumerate(header):
        plain = re.sub(r"[^a-z%]+", "_", name.lower()).strip("_")
        if plain == "read_share":
            return index, 1.0
        if plain in ("read_pct", "read_percent", "read_%", "read_share_%"):
            return index, 0.01
    return None


def finite(path: Path, line: int, column: str, text: str) -> float:
    """Return `text` as a finite number, or refuse the line."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise NearfarError(f"{path}:{line}: column {column!r} has {text!r}, not a number")
    return value


def rounded(point: Point) -> Point:
    """Round to the resolution of a measurement: 0.1 MB/s and 1 ps."""
    return round(point[0], 4), round(point[1], 3)


def _choose(available: list[float], shares: tuple[float, ...]) -> list[float]:
    if not shares and len(available) <= 5:
        return available[::-1]
    nearest = {min(available, key=lambda s: abs(s - share)) for share in shares or DEFAULT_SHARES}
    return sorted(nearest, reverse=True)


def _thinned(before: int, after: int) -> str:
    return "" if before == after else f"{after} of {before} published points"


def _idle(curves: list[LoadedLatencyCurve], source: str) -> list[LatencyFigure]:
    curve = max(curves, key=lambda curve: curve.read_share)
    bandwidth, latency = min(curve.points)
    return [
        LatencyFigure(
            value_ns=latency,
            how="fitted",
            source=source,
            note=f"the curve's lowest load: {bandwidth:g} GB/s at {curve.read_share:.0%} reads",
        )
    ]


def _best(
    families: dict[float, list[Point]], chosen: list[float], source: str
) -> list[BandwidthFigure]:
    return [
        BandwidthFigure(
            operation="read"
            if share >= MIN_READ_CURVE_SHARE
            else "write"
            if share == 0
            else "mixed",
            read_share=share if 0 < share < MIN_READ_CURVE_SHARE else None,
            value_gb_per_s=max(families[share])[0],
            how="fitted",
            source=source,
            note=f"highest bandwidth of the curve at {share:.0%} reads",
        )
        for share in chosen
    ]

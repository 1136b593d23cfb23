"""Import a bandwidth-latency curve from CSV: units must be said, oddities are kept and flagged."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
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
"""Unit to GB/s (1e9 B/s). Not gb/s nor Gbps: some write it for bits, some for bytes."""

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

READ_CURVE = 0.95
"""From this read share on a curve's best bandwidth is called the read bandwidth: counters see a
few writes even where programs only read."""

MOST_LATENCY_NS = 1e9
"""A second: beyond it a value is no memory's latency but another unit or a slip."""

MOST_GB_PER_S = 1e5
"""100 TB/s, above any one memory's bandwidth by more than ten: another unit or a slip."""

MOST_BELOW_ZERO = 0.02
"""Of a curve's greatest bandwidth, what counters may read below zero at idle: published curves
have up to 0.7 %."""

NO_SHARE = "the read share is not stated: all taken as reads"

WANTED_SHARES = (1.0, 0.75, 0.5)
"""The read shares kept of a family with many, where the user names none."""


@dataclass(frozen=True)
class Curves:
    """What a CSV file gives for a device."""

    latency: list[LatencyFigure]
    bandwidth: list[BandwidthFigure]
    loaded_latency: list[LoadedLatencyCurve]


@dataclass(frozen=True)
class Units:
    """Units given on the command line, for headers that carry none."""

    bandwidth: str | None = None
    latency: str | None = None
    read_share: float | None = None
    """Read share (0..1) of every row, for a file without such a column; None: 1, and said."""


def read_curves(
    path: Path,
    units: Units,
    source: str,
    *,
    how: How = "published",
    shares: tuple[float, ...] = (),
    max_points: int = MAX_POINTS,
) -> Curves:
    """Read the family of curves in `path`; figures refer to `source`.

    `shares` are the read shares wanted (nearest are taken); empty: all of up to five, else the
    nearest to 1, 0.75 and 0.5. Each curve keeps the file's order of rows.
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
) -> Curves:
    """Return the curves of `families`, points (GB/s, ns) by read share in order of rising load.

    `shares` and `max_points` as for `read_curves`; `note` is put to every curve.
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
    return Curves(_idle(curves, source), _best(families, chosen, source), curves)


def bandwidth_factor(unit: str) -> float:
    """Return GB/s per `unit`."""
    spelled = _SPELLINGS.get(unit.strip().lower(), unit.strip())
    if spelled not in BANDWIDTH_UNITS:
        raise NearfarError(
            f"the bandwidth unit {unit!r} is not one of {', '.join(BANDWIDTH_UNITS)}; "
            "say which with --bandwidth-unit"
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
            "cycles@2.1GHz; say which with --latency-unit"
        )
    return 1.0 / float(cycles[1])


def _families(path: Path, units: Units) -> tuple[dict[float, list[Point]], bool]:
    """Return the points (GB/s, ns) of each read share in file order, and if shares are said."""
    rows = _rows(path)
    number, header = next(rows, (1, []))
    lacking: list[str] = []
    bandwidth, gb_per_s = _column(header, "bandwidth", units.bandwidth, lacking)
    latency, ns = _column(header, "latency", units.latency, lacking)
    if lacking:
        raise NearfarError(f"{path}:{number}: {', and '.join(lacking)}")
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
            share = round(_number(path, number, header[index], row[index]) * scale, 4)
        if not 0 <= share <= 1:
            raise NearfarError(f"{path}:{number}: a read share of {share:g} is not in 0..1")
        point = (
            _number(path, number, header[bandwidth], row[bandwidth]) * gb_per_s,
            _number(path, number, header[latency], row[latency]) * ns,
        )
        check_point(f"{path}:{number}", point)
        families.setdefault(share, []).append(_rounded(point))
    check_families(path, families)
    return families, share_column is not None or units.read_share is not None


def check_families(path: Path, families: dict[float, list[Point]]) -> None:
    """Refuse families that are no curves: none, of a single point, or far below zero."""
    if not families:
        raise NearfarError(f"{path} holds no rows of data")
    for share, points in families.items():
        if len(points) < 2:
            raise NearfarError(f"{path}: read share {share:g} has a single point, not a curve")
        least, most = min(points)[0], max(points)[0]
        if most <= 0 or least < -MOST_BELOW_ZERO * most:
            raise NearfarError(
                f"{path}: a bandwidth of {least:g} GB/s is further below zero than counters' "
                f"residue at idle ({MOST_BELOW_ZERO:.0%} of the greatest, {most:g} GB/s)"
            )


def check_point(where: str, point: Point) -> None:
    """Refuse a point that no memory has; its bandwidth below zero is judged by the whole curve."""
    bandwidth, latency = point
    if latency <= 0:
        raise NearfarError(f"{where}: a latency of {latency:g} ns is not positive")
    if latency > MOST_LATENCY_NS:
        raise NearfarError(f"{where}: a latency of {latency:g} ns is above a second: which unit?")
    if bandwidth > MOST_GB_PER_S:
        raise NearfarError(
            f"{where}: a bandwidth of {bandwidth:g} GB/s is above {MOST_GB_PER_S:g}: which unit?"
        )


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) of every row that is no comment."""
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
    header: list[str], quantity: str, given: str | None, lacking: list[str]
) -> tuple[int, float]:
    """Return the index of the `quantity`'s column and its factor to GB/s or ns.

    What is missing goes to `lacking`, so that one sentence can name all of it.
    """
    factor = bandwidth_factor if quantity == "bandwidth" else latency_factor
    units = [_unit(name, quantity) for name in header]
    named = [index for index, unit in enumerate(units) if unit is not None]
    if not named:
        lacking.append(f"there is no column {quantity!r} (there are: {', '.join(header)})")
        return 0, 1.0
    if given is not None:
        # A bare column is the one the option speaks of; else the first.
        bare = [index for index in named if not _says_unit(units[index] or "", factor)]
        return (bare or named)[0], factor(given)
    for index in named:
        if _says_unit(units[index] or "", factor):
            return index, factor(units[index] or "")
    lacking.append(
        f"the column {header[named[0]]!r} does not say its unit: name it "
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


def _says_unit(unit: str, factor: object) -> bool:
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


def _number(path: Path, line: int, column: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise NearfarError(f"{path}:{line}: column {column!r} holds {text!r}, not a number")
    return value


def _rounded(point: Point) -> Point:
    """Round to what a measurement can mean: 0.1 MB/s and 1 ps."""
    return round(point[0], 4), round(point[1], 3)


def _choose(there: list[float], wanted: tuple[float, ...]) -> list[float]:
    if not wanted and len(there) <= 5:
        return there[::-1]
    nearest = {min(there, key=lambda s: abs(s - want)) for want in wanted or WANTED_SHARES}
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
            operation="read" if share >= READ_CURVE else "write" if share == 0 else "mixed",
            read_share=share if 0 < share < READ_CURVE else None,
            value_gb_per_s=max(families[share])[0],
            how="fitted",
            source=source,
            note=f"highest bandwidth of the curve at {share:.0%} reads",
        )
        for share in chosen
    ]

"""Bandwidth-latency curves from CSV: units must be stated, oddities are kept and reported."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.base.errors import CommandError, NearfarError
from nearfar.devices.load_order import by_load
from nearfar.devices.oddities import Point, detect_oddities
from nearfar.documents.device import (
    BandwidthFigure,
    How,
    LatencyFigure,
    LoadedLatencyCurve,
)
from nearfar_imports.bad_rows import BadRows
from nearfar_imports.csv_columns import csv_rows, delay_column, quantity_column, share_column
from nearfar_imports.thin import MAX_POINTS, thin

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

    For each of `shares`, the curve of the nearest read share is kept. Without `shares`, up to five
    curves are all kept; of more, those nearest to 1, 0.75 and 0.5. Rows may be in any order: a
    column pause or delay gives the order of load; without one, `by_load` finds it.
    """
    bad = BadRows()
    families, shares_stated = _families(path, units, bad)
    if shares and not shares_stated:
        raise CommandError(
            f"--shares chooses among read shares, and {path} has no column of them: name it "
            "read_share or read_pct, or give the share of all rows with --read-share"
        )
    imported = curves_of(
        families,
        source,
        how=how,
        shares=shares,
        max_points=max_points,
        note="" if shares_stated else NO_SHARE,
    )
    imported.notes += bad.notes(path)
    return imported


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


def _families(path: Path, units: Units, bad: BadRows) -> tuple[dict[float, list[Point]], bool]:
    """Return the points (GB/s, ns) by read share, and whether the read shares are stated."""
    rows = csv_rows(path)
    number, header = next(rows, (1, []))
    missing: list[str] = []
    bandwidth, gb_per_s = quantity_column(header, "bandwidth", units.bandwidth, missing)
    latency, ns = quantity_column(header, "latency", units.latency, missing)
    if missing:
        raise NearfarError(f"{path}:{number}: {', and '.join(missing)}")
    share_place, delay_place = share_column(header), delay_column(header)
    families: dict[float, list[tuple[float, Point]]] = {}
    for number, row in rows:
        with bad.row():
            if len(row) != len(header):
                raise NearfarError(
                    f"{path}:{number}: {len(row)} values, but the header names "
                    f"{len(header)} columns"
                )
            share = 1.0 if units.read_share is None else units.read_share
            if share_place is not None:
                index, scale = share_place
                share = round(finite(path, number, header[index], row[index]) * scale, 4)
            if not 0 <= share <= 1:
                raise NearfarError(f"{path}:{number}: a read share of {share:g} is not in 0..1")
            point = (
                finite(path, number, header[bandwidth], row[bandwidth]) * gb_per_s,
                finite(path, number, header[latency], row[latency]) * ns,
            )
            check_point(f"{path}:{number}", point)
            delay = (
                0.0
                if delay_place is None
                else finite(path, number, header[delay_place], row[delay_place])
            )
            families.setdefault(share, []).append((delay, rounded(point)))
    ordered = {
        share: by_load([point for _, point in points])
        if delay_place is None
        else [point for _, point in sorted(points, key=lambda row: (-row[0], row[1]))]
        for share, points in families.items()
    }
    usable = usable_families(path, ordered, bad)
    return usable, share_place is not None or units.read_share is not None


def usable_families(
    path: Path, families: dict[float, list[Point]], bad: BadRows
) -> dict[float, list[Point]]:
    """Return `families` without points far below zero, which `bad` counts.

    Raises NearfarError for families without curves, with a single point, or with many bad points.
    """
    usable = {share: _not_negative(path, points, bad) for share, points in families.items()}
    for share, points in usable.items():
        if len(points) < 2 and not bad.reasons:
            raise NearfarError(f"{path}: read share {share:g} has a single point, not a curve")
    usable = {share: points for share, points in usable.items() if len(points) > 1}
    if not usable:
        raise NearfarError(bad.reasons[0] if bad.reasons else f"{path} has no rows of data")
    return usable


def _not_negative(path: Path, points: list[Point], bad: BadRows) -> list[Point]:
    """Return `points` without bandwidths far below zero, which `bad` counts."""
    best = max((bandwidth for bandwidth, _ in points), default=0.0)
    kept = []
    for point in points:
        if best <= 0 or point[0] < -MAX_NEGATIVE_SHARE * best:
            bad.drop(
                f"{path}: a bandwidth of {point[0]:g} GB/s is further below zero than counters' "
                f"residue at idle ({MAX_NEGATIVE_SHARE:.0%} of the best, {best:g} GB/s)"
            )
        else:
            kept.append(point)
    return kept


def check_point(where: str, point: Point) -> None:
    """Refuse an impossible point; `usable_families` judges bandwidths below zero."""
    bandwidth, latency = point
    if latency <= 0:
        raise NearfarError(f"{where}: a latency of {latency:g} ns is not positive")
    if latency > MAX_LATENCY_NS:
        raise NearfarError(f"{where}: a latency of {latency:g} ns is above 1 s: check the unit")
    if bandwidth > MAX_GB_PER_S:
        raise NearfarError(
            f"{where}: a bandwidth of {bandwidth:g} GB/s is above {MAX_GB_PER_S:g}: check the unit"
        )


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
    """Return the read shares whose curves are kept, largest first."""
    if not shares and len(available) <= 5:
        return available[::-1]
    nearest = {min(available, key=lambda s: abs(s - share)) for share in shares or DEFAULT_SHARES}
    return sorted(nearest, reverse=True)


def _thinned(before: int, after: int) -> str:
    return "" if before == after else f"{after} of {before} published points"


def _idle(curves: list[LoadedLatencyCurve], source: str) -> list[LatencyFigure]:
    """Return the latency at the lowest load of the curve with most reads."""
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

"""Mess 2.0: ``memory_curves.csv``, a row for each read share and pause, in GB/s and ns."""

from __future__ import annotations

import csv
from pathlib import Path

from nearfar.devices.oddities import Point
from nearfar_imports.bad_rows import BadRows
from nearfar_imports.import_curve import finite
from nearfar_imports.importers._figures import (
    ImportedFigures,
    Importer,
    ImportOptions,
    add_curves,
    checked,
    refuse,
    text_of,
)
from nearfar_imports.importers._registry import IMPORTERS

REQUIRED_COLUMNS = ("read_pct_rounded", "bandwidth_mean", "latency_mean")


def _detects(_path: Path, text: str) -> bool:
    header = text.split("\n", 1)[0].split(",")
    return all(name in header for name in REQUIRED_COLUMNS)


def _read(path: Path, options: ImportOptions) -> ImportedFigures:
    lines = text_of(path).splitlines()
    reader = csv.reader(lines)
    header = next(reader, [])
    missing = [name for name in REQUIRED_COLUMNS if name not in header]
    if missing:
        raise refuse(path, 1, f"the header has no {', '.join(missing)}: is it Mess 2.0's?")
    columns = [header.index(name) for name in REQUIRED_COLUMNS]
    pause = header.index("pause") if "pause" in header else None
    rows: dict[float, list[tuple[float, Point]]] = {}
    bad = BadRows()
    for row in filter(None, reader):
        with bad.row():
            line = reader.line_num
            if len(row) != len(header):
                raise refuse(
                    path, line, f"{len(row)} values, but the header names {len(header)} columns"
                )
            percent, bandwidth, latency = (
                finite(path, line, name, row[column])
                for name, column in zip(REQUIRED_COLUMNS, columns, strict=True)
            )
            if not 0 <= percent <= 100:
                raise refuse(path, line, f"a read share of {percent:g}% is not in 0..100")
            delay = 0.0 if pause is None else finite(path, line, "pause", row[pause])
            point = checked(path, line, (bandwidth, latency))
            rows.setdefault(round(percent / 100, 4), []).append((delay, point))
    # Rows are sorted by bandwidth. The pause sets the load: the longest is the lowest load.
    families = {
        share: [point for _, point in sorted(points, key=lambda row: (-row[0], row[1]))]
        for share, points in rows.items()
    }
    imported = ImportedFigures()
    add_curves(imported, path, families, options, bad=bad, by_delay=pause is not None)
    return imported


IMPORTERS.register("mess-2")(Importer("Mess 2.0 memory_curves.csv", _detects, _read))

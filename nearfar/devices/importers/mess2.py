"""Mess 2.0: ``memory_curves.csv``, a row for each read share and pause; GB/s and ns."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from nearfar.devices.importers._found import (
    Found,
    Importer,
    Options,
    add_curves,
    checked,
    refuse,
    text_of,
)
from nearfar.devices.importers._registry import IMPORTERS
from nearfar.devices.oddities import Point

NEEDED = ("read_pct_rounded", "bandwidth_mean", "latency_mean")


def _detects(_path: Path, text: str) -> bool:
    header = text.split("\n", 1)[0].split(",")
    return all(name in header for name in NEEDED)


def _read(path: Path, options: Options) -> Found:
    lines = text_of(path).splitlines()
    reader = csv.reader(lines)
    header = next(reader, [])
    missing = [name for name in NEEDED if name not in header]
    if missing:
        raise refuse(path, 1, f"the header lacks {', '.join(missing)}: is it Mess 2.0's?")
    columns = [header.index(name) for name in NEEDED]
    pause = header.index("pause") if "pause" in header else None
    rows: dict[float, list[tuple[float, Point]]] = {}
    for row in reader:
        if not row:
            continue
        line = reader.line_num
        if len(row) != len(header):
            raise refuse(
                path, line, f"{len(row)} values, but the header names {len(header)} columns"
            )
        percent, bandwidth, latency = (
            _finite(path, line, name, row[column])
            for name, column in zip(NEEDED, columns, strict=True)
        )
        if not 0 <= percent <= 100:
            raise refuse(path, line, f"a read share of {percent:g}% is not in 0..100")
        rest = _finite(path, line, "pause", row[pause]) if pause is not None else -float(line)
        point = checked(path, line, (bandwidth, latency))
        rows.setdefault(round(percent / 100, 4), []).append((rest, point))
    # Rows are sorted by bandwidth, load is set by the pause: from the longest to none.
    families = {
        share: [point for _, point in sorted(found, key=lambda one: -one[0])]
        for share, found in rows.items()
    }
    found = Found()
    add_curves(found, path, families, options)
    return found


def _finite(path: Path, line: int, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise refuse(path, line, f"column {name!r} holds {text!r}, not a number")
    return value


IMPORTERS.register("mess-2")(Importer("Mess 2.0 memory_curves.csv", _detects, _read))

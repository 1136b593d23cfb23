"""Mess 1.0 and PROFET text: ``bwlat_<read %>.txt``, MB/s and CPU cycles of a point per line.

A folder of such files is one family. Lines begin with the highest bandwidth; comments begin with #,
also after the numbers. The frequency is not in the files: ``--latency-unit cycles@2.1GHz``.
"""

from __future__ import annotations

import re
from pathlib import Path

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
    refuse,
    text_of,
)
from nearfar_imports.importers._registry import IMPORTERS

NAME = re.compile(r"bwlat_(\d+(?:\.\d+)?)\.txt")


def _detects(path: Path, _text: str) -> bool:
    if path.is_dir():
        return any(NAME.fullmatch(file.name) for file in path.iterdir())
    return NAME.fullmatch(path.name) is not None


def _read(path: Path, options: ImportOptions) -> ImportedFigures:
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if NAME.fullmatch(file.name))
    if options.units.latency is None:
        raise NearfarError(
            f"{path} has latencies in CPU cycles: give the frequency, such as "
            "--latency-unit cycles@2.1GHz"
        )
    families: dict[float, list[Point]] = {}
    bad = BadRows()
    for file in files:
        share = _share(file, options)
        families.setdefault(share, []).extend(_points(file, options, bad))
    imported = ImportedFigures()
    add_curves(imported, path, families, options, bad=bad)
    return imported


def _share(file: Path, options: ImportOptions) -> float:
    if options.units.read_share is not None:
        return options.units.read_share
    match = NAME.fullmatch(file.name)
    if match is None:
        raise NearfarError(
            f"the name of {file} is not bwlat_<read %>.txt: give the share of reads with "
            "--read-share"
        )
    share = float(match[1]) / 100
    if share > 1:
        raise NearfarError(f"the name of {file} states {match[1]}% reads, which is above 100")
    return share


def _points(file: Path, options: ImportOptions, bad: BadRows) -> list[Point]:
    """Return the file's points (GB/s, ns); Mess writes the highest load first."""
    gb_per_s = bandwidth_factor(options.units.bandwidth or "MB/s")
    ns = latency_factor(options.units.latency or "")
    points = []
    for line, text in enumerate(text_of(file).splitlines(), start=1):
        cells = text.split("#", 1)[0].split()
        if not cells:
            continue
        with bad.row():
            try:
                bandwidth, latency = (float(cell) for cell in cells)
            except ValueError:
                raise refuse(file, line, f"not two numbers (MB/s and cycles): {text!r}") from None
            points.append(checked(file, line, (bandwidth * gb_per_s, latency * ns)))
    return points


IMPORTERS.register("mess-1")(
    Importer("Mess 1.0 or PROFET bwlat_<read %>.txt, or a folder of them", _detects, _read)
)

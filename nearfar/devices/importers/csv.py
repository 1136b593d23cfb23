"""Plain CSV: a column bandwidth, a column latency, their units, and perhaps a read share."""

from __future__ import annotations

from pathlib import Path

from nearfar.devices.import_curve import NO_SHARE, read_curves
from nearfar.devices.importers._found import SOURCE, Found, Importer, Options
from nearfar.devices.importers._registry import IMPORTERS


def _read(path: Path, options: Options) -> Found:
    curves = read_curves(
        path,
        options.units,
        SOURCE,
        how=options.how,
        shares=options.shares,
        max_points=options.max_points,
    )
    found = Found(curves.latency, curves.bandwidth, curves.loaded_latency)
    if any(NO_SHARE in curve.note for curve in curves.loaded_latency):
        found.notes.append(
            "no read share is given: all rows are taken as 100% reads (--read-share)"
        )
    return found


# It is what a file is taken for that no other format knows: it claims none itself.
IMPORTERS.register("csv")(Importer("CSV with units", lambda _path, _text: False, _read))

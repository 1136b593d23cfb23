"""Plain CSV with columns for bandwidth, latency and possibly the read share, with units."""

from __future__ import annotations

from pathlib import Path

from nearfar_imports.import_curve import NO_SHARE, read_curves
from nearfar_imports.importers._figures import SOURCE, ImportedFigures, Importer, ImportOptions
from nearfar_imports.importers._registry import IMPORTERS


def _read(path: Path, options: ImportOptions) -> ImportedFigures:
    imported = read_curves(
        path,
        options.units,
        SOURCE,
        how=options.how,
        shares=options.shares,
        max_points=options.max_points,
    )
    if any(NO_SHARE in curve.note for curve in imported.loaded_latency):
        imported.notes.append(
            "no read share is given: all rows are assumed to be 100% reads (--read-share)"
        )
    return imported


# The fallback of files that no other importer detects: it detects none itself.
IMPORTERS.register("csv")(Importer("CSV with units", lambda _path, _text: False, _read))

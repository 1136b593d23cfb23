"""STREAM's text: Copy, Scale, Add, Triad in MB/s (1e6 B/s), of one or more runs.

STREAM does not count the lines that the hardware reads before ordinary stores.
"""

from __future__ import annotations

import re
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.documents.device import BandwidthFigure, Operation
from nearfar_imports.importers._figures import (
    SOURCE,
    ImportedFigures,
    Importer,
    ImportOptions,
    number,
    refuse,
    text_of,
)
from nearfar_imports.importers._registry import IMPORTERS

HEADER = re.compile(r"Function\s+(?:Best )?Rate\s*\(?([MG]B)/s\)?\s+Avg time")
ROW = re.compile(r"\s*(Copy|Scale|Add|Triad):\s+(\S+)")
THREADS = re.compile(r"Number of Threads counted = (\d+)")
KERNELS: dict[str, tuple[Operation, float | None]] = {
    "Copy": ("copy", None),
    "Scale": ("mixed", 0.5),
    "Add": ("mixed", 0.6667),
    "Triad": ("mixed", 0.6667),
}
"""Operation and read share by kernel."""


def _read(path: Path, options: ImportOptions) -> ImportedFigures:
    imported = ImportedFigures()
    threads: int | None = None
    factor: float | None = None
    for line, row in enumerate(text_of(path).splitlines(), start=1):
        if counted := THREADS.search(row):
            threads = int(counted[1])
        elif header := HEADER.search(row):
            factor = 1e-3 if header[1] == "MB" else 1.0
        elif "Failed Validation" in row:
            raise refuse(path, line, "STREAM reports that its results are wrong: measure again")
        elif kernel := ROW.match(row):
            if factor is None:
                raise refuse(path, line, "expected a header 'Function  Best Rate MB/s' before it")
            imported.bandwidth.append(
                _figure(kernel[1], number(path, line, kernel[1], kernel[2]) * factor, threads,
                        options)
            )  # fmt: skip
    if factor is None:
        raise NearfarError(
            f"{path} has no STREAM results: expected a line 'Function  Best Rate MB/s'"
        )
    if len(imported.bandwidth) % len(KERNELS) != 0 or not imported.bandwidth:
        raise NearfarError(
            f"{path} has {len(imported.bandwidth)} of STREAM's results, not Copy, Scale, Add and "
            "Triad of each run: is it cut short?"
        )
    return imported


def _figure(
    kernel: str, gb_per_s: float, threads: int | None, options: ImportOptions
) -> BandwidthFigure:
    operation, share = KERNELS[kernel]
    return BandwidthFigure(
        operation=operation,
        read_share=share,
        threads=threads,
        value_gb_per_s=round(gb_per_s, 4),
        how=options.how,
        source=SOURCE,
        note=f"STREAM {kernel}, ordinary or nt stores as its compiler chose",
    )


IMPORTERS.register("stream")(
    Importer("STREAM", lambda _path, text: HEADER.search(text) is not None, _read)
)

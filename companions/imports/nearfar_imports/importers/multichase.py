"""multichase and multiload: the table of multiload, of one or more runs in a file.

A row has a latency (ChaseNS), a bandwidth (LdMaxMibs) or a latency under load (ChaseNS at
LdAvgMibs). 1 MiB/s is 2^20 B/s. Rows of one load kernel make a curve, by load threads. multichase
prints a single number of ns: import such a file with --format multichase.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.devices.oddities import Point
from nearfar.documents.device import BandwidthFigure, LatencyFigure, Operation
from nearfar_imports.importers._figures import (
    SOURCE,
    ImportedFigures,
    Importer,
    ImportOptions,
    add_curves,
    checked,
    number,
    refuse,
    text_of,
)
from nearfar_imports.importers._registry import IMPORTERS

TITLE = re.compile(r"Samples\s*,\s*Byte/thd\s*,")
GB = 2**20 / 1e9
"""GB/s per MiB/s."""

READ_SHARE: dict[str, tuple[Operation, float]] = {
    "memcpy-libc": ("copy", 0.5),
    "memset-libc": ("write", 0.0),
    "memsetz-libc": ("write", 0.0),
    "stream-copy": ("copy", 0.5),
    "stream-sum": ("read", 1.0),
    "stream-triad": ("mixed", 0.6667),
    "stream-triad-nontemporal-injection-delay": ("mixed", 0.6667),
}
"""Operation and read share by load kernel, as multiload's help states them."""


@dataclass(frozen=True)
class _Run:
    line: int
    cells: dict[str, str]

    def float(self, path: Path, name: str) -> float:
        return number(path, self.line, name, self.cells[name])


def _read(path: Path, options: ImportOptions) -> ImportedFigures:
    """Return the file's latencies, bandwidths and, by read share, curves of loaded latency."""
    runs = _runs(path)
    imported = ImportedFigures()
    if not runs:
        _single(path, options, imported)
        return imported
    loaded: dict[float, list[tuple[float, Point]]] = {}
    for run in runs:
        chases, loads = run.cells["ChaseThds"] != "0", run.cells["LoadThds"] != "0"
        if chases and loads:
            _, read_share = _kernel(path, run)
            rate, ns = run.float(path, "LdAvgMibs") * GB, run.float(path, "ChaseNS")
            threads = run.float(path, "LoadThds")
            point = checked(path, run.line, (rate, ns))
            loaded.setdefault(read_share, []).append((threads, point))
        elif chases:
            imported.latency.append(_latency(path, run, options))
        elif loads:
            imported.bandwidth.append(_bandwidth(path, run, options))
    curves = {
        share: [point for _, point in sorted(points, key=lambda row: row[0])]
        for share, points in loaded.items()
        if len(points) > 1
    }
    singles = sum(len(points) == 1 for points in loaded.values())
    if singles:
        imported.notes.append(f"{singles} loads with a single run were left out: a curve needs two")
    if curves:
        add_curves(imported, path, curves, options, "multiload", by_delay=True)
    return imported


def _runs(path: Path) -> list[_Run]:
    header: list[str] = []
    runs = []
    for line, row in enumerate(text_of(path).splitlines(), start=1):
        cells = [cell.strip() for cell in row.split(",")]
        if TITLE.match(row.strip()):
            header = cells
        elif header and len(cells) > 2 and cells[0].isdigit():
            if len(cells) != len(header):
                raise refuse(
                    path, line, f"{len(cells)} values, but the header names {len(header)} columns"
                )
            runs.append(_Run(line, dict(zip(header, cells, strict=True))))
    if header:
        required = {"ChaseThds", "ChaseNS", "LoadThds", "LdMaxMibs", "LdAvgMibs", "MemLdArg"}
        missing = sorted(required - set(header))
        if missing:
            raise NearfarError(f"{path}: multiload's header has no {', '.join(missing)}")
        if not runs:
            raise NearfarError(f"{path}: no results follow multiload's header: is it cut short?")
    return runs


def _kernel(path: Path, run: _Run) -> tuple[Operation, float]:
    name = run.cells["MemLdArg"]
    if name not in READ_SHARE:
        raise refuse(
            path,
            run.line,
            f"the read share of the load {name!r} is unknown; known: {', '.join(READ_SHARE)}",
        )
    return READ_SHARE[name]


def _latency(path: Path, run: _Run, options: ImportOptions) -> LatencyFigure:
    size = run.cells.get("Byte/thd", "")
    return LatencyFigure(
        value_ns=run.float(path, "ChaseNS"),
        region_bytes=int(size) if size.isdigit() and int(size) > 0 else None,
        how=options.how,
        source=SOURCE,
        note=f"multiload's chase {run.cells.get('ChaseArg', '')}, best of its samples",
    )


def _bandwidth(path: Path, run: _Run, options: ImportOptions) -> BandwidthFigure:
    operation, share = _kernel(path, run)
    return BandwidthFigure(
        operation=operation,
        read_share=share if operation == "mixed" else None,
        threads=int(run.float(path, "LoadThds")),
        value_gb_per_s=round(run.float(path, "LdMaxMibs") * GB, 4),
        how=options.how,
        source=SOURCE,
        note=f"multiload's {run.cells['MemLdArg']}, best of its samples",
    )


def _single(path: Path, options: ImportOptions, imported: ImportedFigures) -> None:
    """Read the single number of multichase."""
    rows = [(line, row) for line, row in enumerate(text_of(path).splitlines(), 1) if row.strip()]
    if not rows:
        raise NearfarError(f"{path} is empty")
    line, row = rows[-1]
    value = number(path, line, "multichase's last line, ns per access,", row.strip())
    imported.latency.append(
        LatencyFigure(value_ns=value, how=options.how, source=SOURCE, note="multichase's chase")
    )


IMPORTERS.register("multichase")(
    Importer("multichase or multiload", lambda _path, text: bool(TITLE.search(text)), _read)
)

"""multichase and multiload: the table that multiload prints, also of many runs in one file.

A row is latency alone (ChaseNS), bandwidth alone (LdMaxMibs) or latency under load (ChaseNS at
LdAvgMibs). 1 MiB/s is 2^20 B/s. Rows of one load kernel make a curve, in the file's order of load
threads. multichase itself prints one number, ns: give such a file with --format multichase.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.devices.importers._found import (
    SOURCE,
    Found,
    Importer,
    Options,
    add_curves,
    checked,
    number,
    refuse,
    text_of,
)
from nearfar.devices.importers._registry import IMPORTERS
from nearfar.devices.oddities import Point
from nearfar.documents.device import BandwidthFigure, LatencyFigure, Operation

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
"""Load kernel to what it does, as multiload's own help states the ratios of reads to writes."""


@dataclass(frozen=True)
class _Run:
    line: int
    cells: dict[str, str]

    def float(self, path: Path, name: str) -> float:
        return number(path, self.line, name, self.cells[name])


def _read(path: Path, options: Options) -> Found:
    runs = _runs(path)
    found = Found()
    if not runs:
        _single(path, options, found)
        return found
    families: dict[float, list[tuple[float, Point]]] = {}
    for run in runs:
        chases, loads = run.cells["ChaseThds"] != "0", run.cells["LoadThds"] != "0"
        if loads:
            _, share = _kernel(path, run)
        if chases and loads:
            rate, ns = run.float(path, "LdAvgMibs") * GB, run.float(path, "ChaseNS")
            threads = run.float(path, "LoadThds")
            point = checked(path, run.line, (rate, ns))
            families.setdefault(share, []).append((threads, point))
        elif chases:
            found.latency.append(_latency(path, run, options))
        elif loads:
            found.bandwidth.append(_bandwidth(path, run, options))
    curves = {
        share: [point for _, point in sorted(points, key=lambda one: one[0])]
        for share, points in families.items()
        if len(points) > 1
    }
    singles = sum(len(points) == 1 for points in families.values())
    if singles:
        found.notes.append(f"{singles} loads of a single run are no curve and were left out")
    if curves:
        add_curves(found, path, curves, options, "multiload")
    return found


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
        needed = {"ChaseThds", "ChaseNS", "LoadThds", "LdMaxMibs", "LdAvgMibs", "MemLdArg"}
        missing = sorted(needed - set(header))
        if missing:
            raise NearfarError(f"{path}: multiload's header lacks {', '.join(missing)}")
        if not runs:
            raise NearfarError(f"{path}: no results follow multiload's header: is it cut short?")
    return runs


def _kernel(path: Path, run: _Run) -> tuple[Operation, float]:
    name = run.cells["MemLdArg"]
    if name not in READ_SHARE:
        raise refuse(
            path,
            run.line,
            f"the load {name!r} is not one whose reads are known: {', '.join(READ_SHARE)}",
        )
    return READ_SHARE[name]


def _latency(path: Path, run: _Run, options: Options) -> LatencyFigure:
    size = run.cells.get("Byte/thd", "")
    return LatencyFigure(
        value_ns=run.float(path, "ChaseNS"),
        region_bytes=int(size) if size.isdigit() and int(size) > 0 else None,
        how=options.how,
        source=SOURCE,
        note=f"multiload's chase {run.cells.get('ChaseArg', '')}, best of its samples",
    )


def _bandwidth(path: Path, run: _Run, options: Options) -> BandwidthFigure:
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


def _single(path: Path, options: Options, found: Found) -> None:
    """Read the number that multichase prints."""
    rows = [(line, row) for line, row in enumerate(text_of(path).splitlines(), 1) if row.strip()]
    if not rows:
        raise NearfarError(f"{path} is empty")
    line, row = rows[-1]
    value = number(path, line, "multichase's last line, ns per access,", row.strip())
    found.latency.append(
        LatencyFigure(value_ns=value, how=options.how, source=SOURCE, note="multichase's chase")
    )


IMPORTERS.register("multichase")(
    Importer("multichase or multiload", lambda _path, text: bool(TITLE.search(text)), _read)
)

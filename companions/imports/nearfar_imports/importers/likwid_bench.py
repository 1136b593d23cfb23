"""likwid-bench's text, one or more runs in one file.

Its MByte/s (1e6 B/s) count the payload that the kernel loads and stores, as everywhere in nearfar,
not the lines that the hardware reads before ordinary stores.
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

TITLE = "LIKWID MICRO BENCHMARK"
FIELD = re.compile(r"(Test|MByte/s|Size \(Byte\)|Loads per update|Stores per update):\s*(\S+)")
THREADS = re.compile(r"Using (\d+) threads")
Run = dict[str, tuple[int, str]]


def _read(path: Path, options: ImportOptions) -> ImportedFigures:
    imported = ImportedFigures()
    for run in _runs(path):
        line, name = run["Test"]
        if "MByte/s" not in run:
            raise refuse(path, line, f"the test {name} has no MByte/s: is the file cut short?")
        imported.bandwidth.append(_figure(path, run, options))
    return imported


def _runs(path: Path) -> list[Run]:
    runs: list[Run] = []
    for line, row in enumerate(text_of(path).splitlines(), start=1):
        field, threads = FIELD.match(row.strip()), THREADS.match(row.strip())
        if field and field[1] == "Test":
            runs.append({})
        if field and runs:
            runs[-1][field[1]] = (line, field[2])
        elif threads and runs:
            runs[-1]["threads"] = (line, threads[1])
    if not runs:
        raise NearfarError(
            f"{path} has no run of likwid-bench: expected a line that begins with 'Test:'"
        )
    return runs


def _figure(path: Path, run: Run, options: ImportOptions) -> BandwidthFigure:
    _, name = run["Test"]
    line, rate = run["MByte/s"]
    operation, share = _operation(path, run)
    note = f"likwid-bench {name}"
    threads = None
    if "threads" in run:
        threads = int(number(path, run["threads"][0], "threads", run["threads"][1]))
    if "Size (Byte)" in run:
        size_line, size = run["Size (Byte)"]
        note += f", {number(path, size_line, 'the size', size) / 1e6:.0f} MB in all"
    return BandwidthFigure(
        operation=operation,
        read_share=share,
        threads=threads,
        value_gb_per_s=round(number(path, line, "MByte/s", rate) / 1e3, 4),
        how=options.how,
        source=SOURCE,
        note=note,
    )


def _operation(path: Path, run: Run) -> tuple[Operation, float | None]:
    """Return a kernel's operation and read share, by its loads and stores or else its name."""
    name = run["Test"][1].lower()
    parts = name.split("_")
    if "mem" in parts and parts[0] in ("store", "clstore"):
        return "nt-store", None
    if parts[0] in ("copy", "clcopy"):
        return "copy", None
    if "Loads per update" in run and "Stores per update" in run:
        loads, stores = (
            _count(path, *run[key]) for key in ("Loads per update", "Stores per update")
        )
        if stores == 0:
            return "read", None
        if loads == 0:
            return "write", None
        return "mixed", round(loads / (loads + stores), 4)
    if parts[0] in ("load", "clload", "sum", "ddot"):
        return "read", None
    if parts[0] in ("store", "clstore"):
        return "write", None
    line = run["Test"][0]
    raise refuse(path, line, f"{name} states neither loads nor stores per update")


def _count(path: Path, line: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise refuse(path, line, f"not a number of accesses: {text!r}") from None


IMPORTERS.register("likwid-bench")(
    Importer("likwid-bench", lambda _path, text: TITLE in text, _read)
)

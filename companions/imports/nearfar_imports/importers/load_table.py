"""A table of loaded-latency runs as CSV: a row for each run and delay.

Columns: inject_delay, latency_ns, gb_per_s, and those that distinguish runs: read_share or mlc_w,
cores, random, nontemporal_writes, node (whose cores load), latency_cpu, memory_node. Suspect rows
are left out.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.devices.oddities import Point
from nearfar_imports.bad_rows import BadRows
from nearfar_imports.csv_columns import csv_rows
from nearfar_imports.import_curve import check_point, finite, rounded
from nearfar_imports.importers._figures import ImportedFigures, Importer, ImportOptions
from nearfar_imports.importers._mlc_logs import WRITES, add_logs
from nearfar_imports.importers._registry import IMPORTERS
from nearfar_imports.load_logs import LoadLog, Traffic

REQUIRED_COLUMNS = ("inject_delay", "latency_ns", "gb_per_s")
RUN_COLUMNS = (
    *("memory_node", "node", "cores", "mlc_w", "read_share", "nontemporal_writes", "random"),
    "latency_cpu",
)
"""Columns whose values distinguish runs."""


def _detects(_path: Path, text: str) -> bool:
    header = {name.strip() for name in text.split("\n", 1)[0].split(",")}
    return {*REQUIRED_COLUMNS} <= header and bool({"read_share", "mlc_w"} & header)


def read_table(path: Path) -> tuple[list[LoadLog], list[str]]:
    """Return the runs in the table at `path`, and notes on rows left out."""
    rows = csv_rows(path)
    number, header = next(rows, (1, []))
    missing = [name for name in REQUIRED_COLUMNS if name not in header]
    if missing:
        raise NearfarError(f"{path}:{number}: the header has no {', '.join(missing)}")
    bad, suspect = BadRows(), 0
    runs: dict[tuple[str, ...], list[tuple[float, Point]]] = defaultdict(list)
    for number, cells in rows:
        with bad.row():
            if len(cells) != len(header):
                raise NearfarError(
                    f"{path}:{number}: {len(cells)} values, but the header names "
                    f"{len(header)} columns"
                )
            row = dict(zip(header, cells, strict=True))
            if row.get("suspect", "0") not in ("", "0"):
                suspect += 1
                continue
            delay, latency_ns, gb_per_s = (
                finite(path, number, name, row[name]) for name in REQUIRED_COLUMNS
            )
            check_point(f"{path}:{number}", (gb_per_s, latency_ns))
            key = tuple(row.get(name, "") for name in RUN_COLUMNS)
            runs[key].append((delay, rounded((gb_per_s, latency_ns))))
    if not runs:
        raise NearfarError(bad.reasons[0] if bad.reasons else f"{path} has no rows of data")
    notes = bad.notes(path)
    if suspect:
        notes.append(f"left out {suspect} rows that the table marks as suspect")
    return [_log(path, key, points) for key, points in runs.items()], notes


def _log(path: Path, key: tuple[str, ...], points: list[tuple[float, Point]]) -> LoadLog:
    run = dict(zip(RUN_COLUMNS, key, strict=True))
    points.sort(key=lambda row: -row[0])  # the longest delay is the lowest load
    kind = f"w{run['mlc_w']}" if run["mlc_w"] else run["read_share"]
    return LoadLog(
        name=f"{run['node']}_c{run['cores']}_{kind}_r{run['random'] or 0}",
        traffic=_traffic(path, run),
        points=tuple(point for _, point in points),
        cores=int(run["cores"]) if run["cores"].isdigit() else None,
        path=f"node {run['node']} loads, CPU {run['latency_cpu'] or 0} times",
        memory=run["memory_node"],
    )


def _traffic(path: Path, run: dict[str, str]) -> Traffic:
    share, non_temporal = 1.0, run["nontemporal_writes"] == "1"
    if run["read_share"]:
        share = finite(path, 1, "read_share", run["read_share"])
    elif run["mlc_w"].isdigit() and int(run["mlc_w"]) in WRITES:
        share, non_temporal = WRITES[int(run["mlc_w"])]
    elif run["mlc_w"] not in ("", "0"):
        raise NearfarError(f"{path}: the share of reads of mlc_w {run['mlc_w']} is not known")
    if not 0 <= share <= 1:
        raise NearfarError(f"{path}: a read share of {share:g} is not in 0..1")
    return share, non_temporal, "random" if run["random"] == "1" else "sequential"


def _read_many(paths: list[Path], options: ImportOptions) -> ImportedFigures:
    logs, notes = [], []
    for path in paths:
        rows, remarks = read_table(path)
        logs += rows
        notes += remarks
    return add_logs(logs, notes, paths, options)


IMPORTERS.register("load-table")(
    Importer(
        "a table of loaded-latency runs",
        _detects,
        lambda path, options: _read_many([path], options),
        _read_many,
    )
)

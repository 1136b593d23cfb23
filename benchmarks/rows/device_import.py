"""Import of a CXL expander's loaded-latency runs: its time and the device's accuracy.

The runs are those of ByteDance's EuroSys'24 artifact, a table of 594 MLC logs. For the timing each
log is written as MLC's text. A hash of a run's name holds out a quarter of the runs.
"""

from __future__ import annotations

import csv
import hashlib
import itertools
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks import Row, make_row
from nearfar.devices.load_order import by_load
from nearfar.documents.device import LoadedLatencyCurve
from nearfar_imports.import_device import DeviceDescription, import_with_notes
from nearfar_imports.importers import ImportOptions
from nearfar_imports.importers.load_table import read_table
from nearfar_imports.load_logs import LoadLog, figures_of_logs

SECONDS = 3

TABLE = (
    Path(__file__).parents[3]
    / "shared"
    / "reference"
    / "applications"
    / "devices-eurosys24-cxl.csv"
)
OWN_SOCKET = ("d0", "d1", "m")
"""Nodes whose cores reach the expander without the other socket (the table's README)."""

PLACES = 20
"""Places on a line between two points of a curve, for distances."""

FIRST_CPU = {"d0": 1, "d1": 25, "d2": 49, "d3": 73, "m": 1}
COMMAND = "nearfar device import LOG... --name cxl-asic"


def rows() -> Iterable[Row]:
    """Time the import, and judge the device on held-out runs."""
    if not TABLE.is_file():
        print(f"device_import: {TABLE.name} is not there: skipped")
        return
    seconds = _seconds()
    yield make_row("import of 594 logs", seconds, "s", bar=10, peer="", command=COMMAND)
    logs, _ = read_table(TABLE)
    logs = [log for log in logs if log.name.split("_")[0] in OWN_SOCKET]
    idle_ns = statistics.median(log.idle_ns for log in logs)
    reads = max(log.best_gb_per_s for log in logs if log.traffic == (1.0, False, "sequential"))
    made = figures_of_logs(
        [log for log in logs if not _held_out(log)], "table", "published", max_points=30
    )
    read = max(f.value_gb_per_s for f in made.bandwidth if f.operation == "read")
    for name, value, truth in (
        ("idle latency", made.latency[0].value_ns, idle_ns),
        ("read-only peak", read, reads),
    ):
        off = 100 * abs(value / truth - 1)
        yield make_row(f"{name} off", off, "%", bar=2, peer="all runs", command=COMMAND)
    yield from _held_out_rows(logs, made.loaded_latency)


def _held_out_rows(logs: list[LoadLog], curves: list[LoadedLatencyCurve]) -> Iterable[Row]:
    held = [log for log in logs if _held_out(log)]
    errors = np.array([_errors(log, _curve(curves, log)) for log in held])
    for index, name in enumerate(("latency at its bandwidth", "distance to the curve")):
        yield make_row(
            f"{len(held)} held-out runs: {name} off, median",
            100 * float(np.median(errors[:, index])),
            "%",
            bar=10,
            peer="the run",
            command=COMMAND,
        )
        yield make_row(
            f"held-out runs within 10 %: {name}",
            100 * float(np.mean(errors[:, index] <= 0.1)),
            "%",
            bar=100,
            at_most=False,
            peer="the run",
            command=COMMAND,
        )


def _held_out(log: LoadLog) -> bool:
    return hashlib.sha256(log.name.encode()).digest()[0] % 4 == 0


def _curve(curves: list[LoadedLatencyCurve], log: LoadLog) -> LoadedLatencyCurve:
    """Return the curve of the run's traffic whose number of cores is nearest."""
    same = [
        curve
        for curve in curves
        if (curve.read_share, curve.non_temporal, curve.pattern) == log.traffic
    ]
    return min(same, key=lambda curve: abs((curve.threads or 1e9) - (log.cores or 0)))


def _errors(log: LoadLog, curve: LoadedLatencyCurve) -> tuple[float, float]:
    """Return the run's median relative errors: latency at its bandwidth; distance to the curve.

    The distance is the larger of both relative differences, at the nearest point of the curve: at
    saturation the number of requests decides latency at a given bandwidth.
    """
    points = np.array(by_load(curve.points))
    best = int(points[:, 0].argmax()) + 1
    latency = np.interp(
        [rate for rate, _ in log.points],
        points[:best, 0],
        np.maximum.accumulate(points[:best, 1]),
    )
    run = np.array(log.points)
    places = np.concatenate([np.linspace(a, b, PLACES) for a, b in itertools.pairwise(points)])
    apart = np.abs(places[None, :, :] / run[:, None, :] - 1).max(axis=2).min(axis=1)
    return float(np.median(np.abs(latency / run[:, 1] - 1))), float(np.median(apart))


def _seconds() -> float:
    with tempfile.TemporaryDirectory() as folder:
        paths = write_logs(TABLE, Path(folder))
        begin = time.perf_counter()
        import_with_notes(paths, ImportOptions(), DeviceDescription(name="cxl-asic"))
        return time.perf_counter() - begin


def write_logs(table: Path, folder: Path) -> list[Path]:
    """Write the runs of `table` as MLC prints them; return their paths."""
    runs: dict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
    with table.open() as file:
        for row in csv.DictReader(file):
            key = (row["node"], row["cores"], row["mlc_w"], row["random"], row["latency_cpu"])
            runs[key].append(row)
    paths = []
    for (node, cores, kind, random, cpu), points in runs.items():
        first = FIRST_CPU[node]
        options = f"-j4 -k{first}-{first + int(cores) - 1}"
        options += f" -W{kind}" if kind != "0" else ""
        options += " -U" if random == "1" else ""
        options += f" -c{cpu}" if cpu != "0" else ""
        text = "Intel(R) Memory Latency Checker - v3.10\n"
        text += f"Command line parameters: --loaded_latency {options} \n"
        text += "".join(
            f" {int(p['inject_delay']):05d}\t{float(p['latency_ns']):6.2f}\t"
            f"{float(p['gb_per_s']) * 1e3:9.1f}\n"
            for p in points
        )
        path = folder / f"log_{node}_c{cores}_w{kind}_r{random}"
        path.write_text(text)
        paths.append(path)
    return paths

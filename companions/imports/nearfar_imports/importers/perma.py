"""PerMA-Bench's JSON: bandwidths in GiB/s, and latencies of single operations.

Bandwidths are by operation, pattern, threads, access size and persist instruction. Left out and
counted are parallel benchmarks, those on far nodes if there are near ones, and chains of several
operations.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from nearfar.base.errors import NearfarError
from nearfar.documents.device import BandwidthFigure, LatencyFigure, Operation, Pattern
from nearfar_imports.importers._figures import (
    SOURCE,
    ImportedFigures,
    Importer,
    ImportOptions,
    json_of,
)
from nearfar_imports.importers._registry import IMPORTERS

GIB = 2**30 / 1e9
"""GB/s per GiB/s."""

PERSIST: dict[str, tuple[Operation, str]] = {
    "none": ("write", "plain stores, left to the caches' evictions"),
    "cache": ("clwb", "store + clwb + sfence"),
    "cacheinv": ("clwb", "store + clflushopt + sfence"),
    "nocache": ("nt-store", "nt-store + sfence"),
}
"""Operation and note by PerMA's persist_instruction."""

READ_CHAIN = re.compile(r"rp?_(\d+)")


def _detects(_path: Path, text: str) -> bool:
    head = text.lstrip()[:4000]
    return head.startswith(("[", "{")) and '"benchmarks"' in head


def _read(path: Path, options: ImportOptions) -> ImportedFigures:
    value = json_of(path)
    imported = ImportedFigures()
    left_out = 0
    runs = [
        (f"benchmark {outer + 1}.{inner + 1}", run)
        for outer, group in enumerate(value if isinstance(value, list) else [value])
        for inner, run in enumerate(group.get("benchmarks", []) if isinstance(group, dict) else [])
    ]
    if not runs:
        raise NearfarError(f"{path} has no 'benchmarks' as PerMA-Bench writes them")
    kinds = {run["config"].get("memory_type") for _, run in runs if _is_single(run)}
    if len(kinds - {None}) > 1:
        raise NearfarError(
            f"{path} has benchmarks of {' and '.join(sorted(kinds - {None}))}: a device is one "
            "memory; split the file by memory_type"
        )
    near = any(_is_single(run) and run["config"].get("numa_pattern") == "near" for _, run in runs)
    for name, run in runs:
        usable = _is_single(run) and not (near and run["config"].get("numa_pattern") == "far")
        if not usable or not _add(imported, path, name, run, options):
            left_out += 1
    if left_out:
        imported.notes.append(
            f"{left_out} of {len(runs)} benchmarks left out: parallel ones, far nodes, chains of "
            "several operations"
        )
    return imported


def _is_single(run: Any) -> bool:
    """Return whether `run` has one configuration and one result, unlike parallel benchmarks."""
    return (
        isinstance(run, dict)
        and isinstance(run.get("config"), dict)
        and isinstance(run.get("results"), dict)
    )


def _add(
    imported: ImportedFigures, path: Path, name: str, run: dict[str, Any], options: ImportOptions
) -> bool:
    """Add the figure of one run; return False if it is left out."""
    config, results = run["config"], run["results"]
    mode = config.get("exec_mode")
    if mode == "custom":
        chain = READ_CHAIN.fullmatch(str(config.get("custom_operations", "")))
        latency = results.get("latency")
        if chain is None or not isinstance(latency, dict) or config.get("number_threads") != 1:
            return False
        value = _number(path, name, "latency.avg", latency.get("avg"))
        imported.latency.append(
            LatencyFigure(
                value_ns=value,
                how=options.how,
                source=SOURCE,
                note=f"PerMA-Bench, average of random {chain[1]} B reads with the clock's own time",
            )
        )
        return True
    pattern: Pattern = "random" if mode == "random" else "sequential"
    operation: Operation = "read"
    note = "PerMA-Bench"
    if config.get("operation") == "write":
        instruction = str(config.get("persist_instruction", "none"))
        if instruction not in PERSIST:
            raise NearfarError(f"{path}: {name} has an unknown persist_instruction {instruction}")
        operation, stores = PERSIST[instruction]
        note = f"PerMA-Bench, {stores}"
    rate = results.get("bandwidth")
    if isinstance(rate, dict):
        rate = rate.get(str(config.get("operation")))
    imported.bandwidth.append(
        BandwidthFigure(
            operation=operation,
            pattern=pattern,
            threads=int(_number(path, name, "number_threads", config.get("number_threads"))),
            access_bytes=int(_number(path, name, "access_size", config.get("access_size"))),
            value_gb_per_s=round(_number(path, name, "bandwidth", rate) * GIB, 4),
            how=options.how,
            source=SOURCE,
            note=note,
        )
    )
    return True


def _number(path: Path, name: str, key: str, value: Any) -> float:
    if (
        not isinstance(value, int | float)
        or isinstance(value, bool)
        or not math.isfinite(value)
        or value <= 0
    ):
        raise NearfarError(f"{path}: {name} has {key} = {value!r}, not a positive number")
    return float(value)


IMPORTERS.register("perma")(Importer("PerMA-Bench results as JSON", _detects, _read))

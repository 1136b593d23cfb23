"""A BenchResult as a Parquet table: one row per run, with the numbers of the document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from pyarrow import parquet

from nearfar.base.files import atomic_path
from nearfar.documents.bench import BenchResult
from nearfar.documents.header import to_json

METADATA_KEY = b"nearfar"
"""Metadata key of the document without its cells."""


def write_parquet(result: BenchResult, path: Path) -> None:
    """Write a row for each run: the cell's arguments, the round, the figures of that run.

    Percentiles (`latency_*_ns`) and counts per operation (`count_*`) are the cell's: each of its
    rows repeats them.
    """
    rows: list[dict[str, Any]] = []
    for cell in result.cells:
        shared = {
            **cell.arguments,
            **{f"latency_{name}_ns": value for name, value in cell.latency_ns.items()},
            **{f"count_{name}": value for name, value in cell.counts.items()},
            "durable_by": cell.durability.instructions,
            "survives": cell.durability.survives,
        }
        runs = max(len(values) for values in cell.samples.values())
        for round_ in range(runs):
            figures = {
                name: values[round_]
                for name, values in cell.samples.items()
                if round_ < len(values)
            }
            rows.append({**shared, "round": round_, **figures})
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = pa.table({key: [row.get(key) for row in rows] for key in columns})
    head = to_json(msgspec.structs.replace(result, cells=[]))
    with atomic_path(path) as temporary:
        parquet.write_table(table.replace_schema_metadata({METADATA_KEY: head}), temporary)

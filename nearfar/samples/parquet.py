"""Samples as one Parquet table that pandas, Polars and DuckDB read as it is: a row a sample.

Columns: every field of `SamplePoint` under its own name; `repetition` (from 0, of the same point);
`value_ns` or `value_gb_per_s`, the other is null; `drawn_gb_per_s`; `disturbed`; and, where single
accesses were timed, `each_count` and their times:

- `each_ns`: all, in order, of samples of up to `WHOLE_ACCESSES`; null of longer ones, of which
- `each_quantiles_ns` are `QUANTILES` evenly spaced quantiles, 0 to 1, and
- `each_tail_index`, `each_tail_ns` every access above p99, by its place in the order: tails and
  the distances between stalls stay exact, the bulk is known to 1/256.

The store's header is JSON under the table's metadata key ``nearfar``; the curves that inferences
were made from, where there are any, under ``nearfar.evidence``.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from nearfar.base.errors import NearfarError
from nearfar.base.files import atomic_path
from nearfar.samples.evidence import Evidence
from nearfar.samples.point import Sample, SamplePoint
from nearfar.samples.store import SampleRecord, StoreHeader

METADATA_KEY = b"nearfar"
EVIDENCE_KEY = b"nearfar.evidence"

WHOLE_ACCESSES = 4096
"""16 KiB of times: less than the summary of a sample of 100,000 takes (1 % of it, twice)."""

QUANTILES = 257
TAIL_SHARE = 0.99
ROW_GROUP = 512
"""Rows written at once: with the summary some 8 MB at 200,000 accesses a sample."""

WAITING = ("chase", "chains", "read-after-write", "overwrite")
WAITING_FAMILIES = ("chase-", "persist-")
"""Kernels in which each access waits for the one before, by its data or a fence: with one thread
their value is ns per access. They are named here because a table may come from a machine whose
kernels this nearfar does not have; a test compares the names with what the kernels declare."""


@dataclass(frozen=True)
class AccessSummary:
    """Summary of the single accesses of a long sample."""

    count: int
    quantiles_ns: NDArray[np.float32]
    tail_index: NDArray[np.uint32]
    tail_ns: NDArray[np.float32]


@dataclass(frozen=True)
class SampleRow(SampleRecord):
    """A record read back; `sample.each_ns` is None where only a summary was kept."""

    repetition: int = 0
    summary: AccessSummary | None = None


def is_in_ns(point: SamplePoint) -> bool:
    """Return whether samples of `point` are ns per access, not GB/s (see `SamplePoint`)."""
    if point.each:
        return True
    waits = point.kernel in WAITING or point.kernel.startswith(WAITING_FAMILIES)
    return waits and point.threads == 1


def summarise(each_ns: NDArray[np.float32]) -> AccessSummary:
    """Return the quantiles of a sample's accesses, and the slowest with their positions."""
    if each_ns.size == 0:
        empty = np.empty(0, np.float32)
        return AccessSummary(0, empty, np.empty(0, np.uint32), empty)
    quantiles = np.quantile(each_ns, np.linspace(0, 1, QUANTILES)).astype(np.float32)
    tail = np.flatnonzero(each_ns > np.quantile(each_ns, TAIL_SHARE)).astype(np.uint32)
    return AccessSummary(each_ns.size, quantiles, tail, each_ns[tail])


def write_parquet(
    path: Path,
    head: StoreHeader,
    records: Iterable[SampleRecord],
    evidence: Mapping[str, Evidence] | None = None,
) -> int:
    """Write `records` to `path`, whole or not at all; return how many.

    Only one batch is in memory at a time. `evidence` is stored for `nearfar device plot`.
    """
    schema = _schema(head, evidence or {})
    rows = 0
    with (
        atomic_path(path) as temporary,
        parquet.ParquetWriter(temporary, schema, compression="zstd") as writer,
    ):
        for batch in _batches(records):
            columns = {name: [row[name] for row in batch] for name in schema.names}
            writer.write_table(pa.table(columns, schema=schema))
            rows += len(batch)
    return rows


def read_parquet(path: Path) -> tuple[StoreHeader, list[SampleRow]]:
    """Read back what `write_parquet` wrote."""
    try:
        table = parquet.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise NearfarError(f"cannot read samples {path}: {str(error).splitlines()[0]}") from error
    metadata = (table.schema.metadata or {}).get(METADATA_KEY)
    if metadata is None:
        raise NearfarError(f"{path} is a Parquet table, but not one of nearfar's samples")
    try:
        head = msgspec.json.decode(metadata, type=StoreHeader)
        return head, [_row(row) for batch in table.to_batches() for row in _rows_of(batch)]
    except (msgspec.DecodeError, msgspec.ValidationError, KeyError) as error:
        raise NearfarError(
            f"cannot read samples {path}: they are of another version of nearfar ({error})"
        ) from error


def read_evidence(path: Path) -> dict[str, Evidence]:
    """Return the evidence that `write_parquet` was given; empty if it was given none."""
    kept = (parquet.read_schema(path).metadata or {}).get(EVIDENCE_KEY)
    if kept is None:
        return {}
    arrays = ("x", "y", "y_low", "y_high", "fitted")
    evidence = {}
    for name, fields in msgspec.json.decode(kept).items():
        for key in arrays:
            if fields[key] is not None:
                fields[key] = np.asarray(fields[key], np.float64)
        evidence[name] = Evidence(**{**fields, "knees": tuple(fields["knees"])})
    return evidence


def _schema(head: StoreHeader, evidence: Mapping[str, Evidence]) -> pa.Schema:
    kinds = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    hints = typing.get_type_hints(SamplePoint)
    fields = [
        (field.name, kinds[_plain(hints[field.name])]) for field in dataclasses.fields(SamplePoint)
    ]
    fields += [
        ("repetition", pa.int64()),
        ("value_ns", pa.float64()),
        ("value_gb_per_s", pa.float64()),
        ("drawn_gb_per_s", pa.float64()),
        ("disturbed", pa.bool_()),
        ("each_count", pa.int64()),
        ("each_ns", pa.list_(pa.float32())),
        ("each_quantiles_ns", pa.list_(pa.float32())),
        ("each_tail_index", pa.list_(pa.uint32())),
        ("each_tail_ns", pa.list_(pa.float32())),
    ]
    metadata = {METADATA_KEY: msgspec.json.encode(head)}
    if evidence:
        metadata[EVIDENCE_KEY] = msgspec.json.encode(
            evidence, enc_hook=lambda array: array.tolist()
        )
    return pa.schema(fields, metadata=metadata)


def _plain(hint: Any) -> type:
    """Return the type of a field's annotation: of ``float | None`` float, of a Literal str."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    if typing.get_origin(hint) is typing.Literal:
        return type(typing.get_args(hint)[0])
    assert isinstance(hint, type)
    return hint


def _batches(records: Iterable[SampleRecord]) -> Iterator[list[dict[str, Any]]]:
    """Yield the table's rows, as many at once as a group of rows in the file has."""
    seen: Counter[SamplePoint] = Counter()
    batch = []
    for record in records:
        batch.append(_flat(record, seen[record.point]))
        seen[record.point] += 1
        if len(batch) == ROW_GROUP:
            yield batch
            batch = []
    if batch:
        yield batch


def _flat(record: SampleRecord, repetition: int) -> dict[str, Any]:
    point, sample = record.point, record.sample
    in_ns = is_in_ns(point)
    row: dict[str, Any] = {
        **dataclasses.asdict(point),
        "repetition": repetition,
        "value_ns": sample.value if in_ns else None,
        "value_gb_per_s": None if in_ns else sample.value,
        "drawn_gb_per_s": sample.drawn_gb_per_s,
        "disturbed": sample.disturbed,
        "each_count": None,
        "each_ns": None,
        "each_quantiles_ns": None,
        "each_tail_index": None,
        "each_tail_ns": None,
    }
    if sample.each_ns is not None:
        row["each_count"] = int(sample.each_ns.size)
        if sample.each_ns.size <= WHOLE_ACCESSES:
            row["each_ns"] = sample.each_ns
        else:
            summary = summarise(sample.each_ns)
            row["each_quantiles_ns"] = summary.quantiles_ns
            row["each_tail_index"] = summary.tail_index
            row["each_tail_ns"] = summary.tail_ns
    return row


def _rows_of(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Yield rows; lists stay arrays, because lists of Python take 30 bytes per number."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    plain = {
        name: column.to_pylist()
        for name, column in columns.items()
        if not name.startswith("each_") or name == "each_count"
    }
    for index in range(batch.num_rows):
        row = {name: values[index] for name, values in plain.items()}
        for name, column in columns.items():
            if name not in plain:
                cell = column[index]
                row[name] = cell.values.to_numpy() if cell.is_valid else None
        yield row


def _row(row: dict[str, Any]) -> SampleRow:
    point = SamplePoint(
        **{field.name: row[field.name] for field in dataclasses.fields(SamplePoint)}
    )
    value = row["value_ns"] if row["value_ns"] is not None else row["value_gb_per_s"]
    summary = None
    if row["each_quantiles_ns"] is not None:
        summary = AccessSummary(
            row["each_count"], row["each_quantiles_ns"], row["each_tail_index"], row["each_tail_ns"]
        )
    sample = Sample(value, row["drawn_gb_per_s"], row["each_ns"], row["disturbed"])
    return SampleRow(point, sample, row["repetition"], summary)

"""Two sweeps: points with the same parameters.

Measured points have samples, the others no random error.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from nearfar.compare.kind import KINDS, ComparableKind, ComparedValue
from nearfar.documents.header import Document, Producer, load
from nearfar.documents.sweep import Sweep
from nearfar.points.inputs import POINT
from nearfar.points.kind import POINT_KINDS

HIDDEN = ("source", "files", "command", "folder", "environment")
"""Parameters that may differ: two builds of the program of one name are compared."""


@dataclass(frozen=True)
class FinishedSweep:
    """A sweep's folder."""

    producer: Producer
    rows: list[dict[str, Any]]
    kind: str = "sweep"


@KINDS.register("sweep")
class Sweeps(ComparableKind[Any]):
    """Folders of `nearfar sweep`."""

    document: ClassVar[type[Document]] = Sweep

    def load(self, path: Path) -> list[Any]:
        """Read the finished points that the sweep file had at its last run."""
        folder = path if path.is_dir() else path.parent
        record = load(folder / "sweep.json", Sweep)
        table = pads.dataset(folder / "results", format="parquet").to_table()
        planned = pq.read_table(folder / "plan.parquet", columns=["point"])
        planned_ids = set(planned.column("point").to_pylist())
        rows = [row for row in table.to_pylist() if row["point"] in planned_ids]
        return [FinishedSweep(record.producer, rows)]

    def values(self, documents: Sequence[Any]) -> list[ComparedValue]:
        """Return the value that each point is computed for."""
        return [value for row in documents[0].rows if (value := _value(row)) is not None]


def _value(row: dict[str, Any]) -> ComparedValue | None:
    parameters = json.loads(row["parameters"])
    defaults = {
        field.name: field.default for field in msgspec.structs.fields(POINT_KINDS.get(row["kind"]))
    }
    shown = {
        k: v
        for k, v in parameters.items()
        if k not in HIDDEN and v not in (None, {}, "", []) and v != defaults.get(k)
    }
    program = shown.pop("program", None)
    name = ", ".join(
        [*([program] if program else []), *(f"{k} {_text(v)}" for k, v in shown.items())]
    )
    kind = row["kind"]
    if kind == "measure":
        samples = tuple(float(ns) for ns in json.loads(row["more"])["wall_times_ns"])
        return ComparedValue("measure", name, "ns", row["time_ns"], samples=samples, timed=True)
    if kind in ("predict", "place"):
        # A program that the sweep itself profiled was measured in each sweep: its values have a
        # random error, which the row does not contain.
        profiled = str(parameters["source"]).startswith(POINT)
        return ComparedValue(
            *(kind, name, "x", row["slowdown"]),
            sigma=None if profiled else 0.0,
            note="its program was profiled again: compare the profiles" if profiled else "",
        )
    if kind == "simulate":
        return ComparedValue(kind, name, "ns", row["ns_per_access"], sigma=0.0)
    return None


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{k}={_text(v)}" for k, v in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)

"""Published figures as data: one TOML file per source in `published/`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).parent / "published"

Column = NDArray[np.float64]


@dataclass(frozen=True)
class PublishedFigures:
    """The figures of one source."""

    citation: str
    machine: str
    tables: dict[str, Any]
    values: dict[str, Any]
    """Single figures, each a table with `value` and `where`."""

    def columns(self, key: str) -> dict[str, Column]:
        """Return the columns of table `key` by name, in the units of the file."""
        printed = self.tables[key]
        rows = np.asarray(printed["rows"], dtype=float)
        if rows.shape[1] != len(printed["columns"]):
            raise AssertionError(f"table {key}: rows do not have the columns named")
        return {name: rows[:, i] for i, name in enumerate(printed["columns"])}

    def value(self, key: str) -> float:
        """Return a single figure, in the unit at the end of its name."""
        return float(self.values[key]["value"])


@cache
def published(name: str) -> PublishedFigures:
    """Return the figures of one source by the name of its file."""
    document = tomllib.loads((FOLDER / f"{name}.toml").read_text())
    source = document["source"]
    return PublishedFigures(
        citation=source["citation"],
        machine=source.get("machine", ""),
        tables=document.get("tables", {}),
        values=document.get("values", {}),
    )

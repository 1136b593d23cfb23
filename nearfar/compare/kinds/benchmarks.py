"""Two files of `make benchmarks`: values, and whether bars are met."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.files import read_bytes
from nearfar.compare.kind import KINDS, ComparableKind, ComparedValue, documents_in
from nearfar.documents.header import Document, Producer


class BenchmarkRow(msgspec.Struct, kw_only=True):
    """The compared parts of a row."""

    name: str
    value: float
    unit: str
    bar: str
    holds: bool


class Benchmarks(msgspec.Struct, kw_only=True):
    """The file."""

    producer: Producer
    rows: list[BenchmarkRow]


@KINDS.register("benchmarks")
class BenchmarkFiles(ComparableKind[Any]):
    """Rows by name; the files of a folder are samples of a row."""

    document: ClassVar[type[Document]] = Document

    def load(self, path: Path) -> list[Any]:
        """Read the files."""
        files: list[Any] = []
        for file in documents_in(path) if path.is_dir() else [path]:
            try:
                files.append(msgspec.json.decode(read_bytes(file, "benchmarks"), type=Benchmarks))
            except msgspec.ValidationError as error:
                raise NearfarError(f"{file} is no file of `make benchmarks`: {error}") from error
        return files

    def values(self, documents: Sequence[Any]) -> list[ComparedValue]:
        """Return values and whether bars are met."""
        by_name: dict[str, list[BenchmarkRow]] = {}
        for file in documents:
            for row in file.rows:
                by_name.setdefault(row.name, []).append(row)
        bars = [
            ComparedValue(
                *("holds", name, "bar held", float(all(row.holds for row in rows)), "less"),
                sigma=0.0,
                note=rows[-1].bar,
            )
            for name, rows in by_name.items()
        ]
        return bars + [
            ComparedValue(
                "value",
                name,
                rows[0].unit,
                sorted(row.value for row in rows)[len(rows) // 2],
                "less" if rows[0].bar.startswith(">=") else "more",
                samples=tuple(row.value for row in rows),
                timed=True,
            )
            for name, rows in by_name.items()
        ]

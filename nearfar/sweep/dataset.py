"""The folder that a sweep writes: a Parquet dataset, and the files to continue the sweep.

results/part-*.parquet   finished points, each once; any Parquet reader can read them
plan.parquet             points of the current sweep file; a semi join omits older points
documents/*.json         profiles that points produced
journal/*.jsonl          batches under way
errors/*.json            points of the last run that failed
sweep.json               summary of the run: the document Sweep
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.files import atomic_path, cannot_write, write_atomically
from nearfar.documents.header import load
from nearfar.documents.sweep import Sweep
from nearfar.points.row import AXIS_COLUMNS, PointRow, columns
from nearfar.sweep.expand import Matrix

RESULTS, DOCUMENTS, JOURNAL, ERRORS = "results", "documents", "journal", "errors"
HEAD, PLAN, LOCK, TOKEN = "sweep.json", "plan.parquet", "lock", "token"


class Dataset:
    """A sweep's folder; one sweep writes it at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self._lock = -1
        self.token = ""
        """Content of the token file, by which workers recognise the folder of this process."""

    def open(self) -> None:
        """Create the folder, or open one that this nearfar wrote."""
        if (self.folder / HEAD).is_file():
            load(self.folder / HEAD, Sweep)
        elif self.folder.exists() and not self._is_ours():
            raise NearfarError(
                f"{self.folder} exists and is not a sweep's folder: name another one with -o"
            )
        try:
            # Parents are not created: a mistyped path would create a tree of folders.
            self.folder.mkdir(exist_ok=True)
            for name in (RESULTS, DOCUMENTS, JOURNAL, ERRORS):
                (self.folder / name).mkdir(exist_ok=True)
            self._lock = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise cannot_write(self.folder, error) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise NearfarError(
                f"another sweep writes to {self.folder} now: wait until it ends, or name "
                "another folder with -o",
                ExitCode.MACHINE_LACKS,
            ) from error
        self.token = secrets.token_hex(8)
        write_atomically(self.folder / TOKEN, self.token)
        for path in (self.folder / ERRORS).iterdir():
            path.unlink()

    def _is_ours(self) -> bool:
        """Return whether the folder is empty, or was left by a sweep killed during its start."""
        names = {RESULTS, DOCUMENTS, JOURNAL, ERRORS, PLAN, LOCK, TOKEN}
        return self.folder.is_dir() and {path.name for path in self.folder.iterdir()} <= names

    def close(self) -> None:
        """Unlock the folder."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def forget(self) -> None:
        """Remove finished points."""
        for name in (RESULTS, DOCUMENTS, JOURNAL):
            for path in (self.folder / name).iterdir():
                path.unlink()

    def finished(self) -> set[str]:
        """Return the ids of all points in complete parts."""
        ids: set[str] = set()
        for path in sorted((self.folder / RESULTS).glob("part-*.parquet")):
            ids.update(ids_of(path))
        return ids

    def write_plan(self, matrix: Matrix) -> None:
        """Write a table of all points of the sweep: id, kind and parameters."""
        rows = list(matrix.points.values())
        table = pa.table(
            {
                "point": pa.array([row.id for row in rows], pa.string()),
                "kind": pa.array([row.kind for row in rows], pa.string()),
                "parameters": pa.array([row.parameters.decode() for row in rows], pa.string()),
            }
        )
        write_table(table, self.folder / PLAN)

    def document(self, point: str) -> Path:
        """Return the path of a point's document."""
        return self.folder / DOCUMENTS / f"{point}.json"


def part_path(folder: Path, batch: str) -> Path:
    """Return the path of a batch's part."""
    return folder / RESULTS / f"part-{batch}.parquet"


def ids_of(part: Path) -> list[str]:
    """Return the points of a part."""
    try:
        table = pq.read_table(part, columns=["point"])
    except (OSError, pa.ArrowInvalid) as error:
        raise NearfarError(
            f"cannot read {part}: {error}; remove it and run the sweep again, which computes its "
            "points again"
        ) from error
    return [str(value) for value in table.column("point").to_pylist()]


def schema() -> pa.Schema:
    """Return the columns of every part."""
    types = {str: pa.string(), int: pa.int64(), float: pa.float64()}
    return pa.schema([(name, types[kind]) for name, kind in columns().items()])


def write_part(path: Path, rows: Sequence[PointRow]) -> None:
    """Write rows as one part: whole under its name, or not at all."""
    names = list(columns())
    data = {name: [getattr(row, name) for row in rows] for name in names}
    write_table(pa.table(data, schema=schema()), path)


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table under a temporary name, then rename it."""
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary)


def axes_of(parameters: dict[str, object]) -> dict[str, object]:
    """Return the columns that a point's parameters fill."""
    axes = {name: parameters.get(name) for name in AXIS_COLUMNS}
    if axes["size"] is not None:
        axes["size"] = msgspec.json.encode(axes["size"]).decode() if axes["size"] else None
    return axes

"""The finished points of a batch, in a file that survives the process that writes it.

A line is one finished point or one error, in a single write to a file opened for appending: a
process that is killed leaves at most one line without an end, which is no line. The file is locked
while a process writes it, so that a batch that Dask starts again elsewhere waits for a worker that
it only believes dead.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import msgspec

from nearfar.base.files import write_atomically
from nearfar.points.row import PointRow
from nearfar.sweep.dataset import ERRORS, JOURNAL, ids_of, part_path, write_part


class JournalEntry(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One line."""

    row: PointRow | None = None
    point: str = ""
    """Point of an error."""
    error: str = ""


@dataclass
class FinishedPoints:
    """The finished points of a batch."""

    rows: dict[str, PointRow] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    stored: set[str] = field(default_factory=set)
    """Points in a part."""

    def has(self, point: str) -> bool:
        """Say whether the point need not be computed."""
        return point in self.rows or point in self.errors or point in self.stored


class Journal:
    """One batch's journal, locked as long as it is open."""

    def __init__(self, folder: Path, batch: str) -> None:
        self._folder, self._batch = folder, batch
        self.path = folder / JOURNAL / f"{batch}.jsonl"
        self._file = -1
        self.done = FinishedPoints()

    def __enter__(self) -> Journal:
        self.lock(wait=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Unlock it."""
        os.close(self._file)
        self._file = -1

    def lock(self, *, wait: bool) -> None:
        """Open and lock it, and read what is in it; BlockingIOError if it is in use."""
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        while True:
            self._file = os.open(self.path, flags, 0o666)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BaseException:
                os.close(self._file)
                raise
            # Its last owner may have turned it into a part and removed it.
            if os.fstat(self._file).st_nlink:
                break
            os.close(self._file)
        self.done = self._read()

    def _read(self) -> FinishedPoints:
        done = FinishedPoints()
        part = part_path(self._folder, self._batch)
        if part.exists():
            done.stored.update(ids_of(part))
        errors = self._folder / ERRORS / f"{self._batch}.json"
        if errors.exists():
            done.errors |= msgspec.json.decode(errors.read_bytes(), type=dict[str, str])
        with os.fdopen(os.dup(self._file), "rb") as file:
            file.seek(0)
            content = file.read()
        whole = content.rpartition(b"\n")[0]
        if len(whole) + bool(whole) < len(content):
            # What a killed process left without an end would spoil the next line.
            os.ftruncate(self._file, len(whole) + bool(whole))
        for line in whole.splitlines():
            self._take(msgspec.json.decode(line, type=JournalEntry), done)
        return done

    def _take(self, entry: JournalEntry, done: FinishedPoints) -> None:
        if entry.row is not None:
            done.rows[entry.row.point] = entry.row
        else:
            done.errors[entry.point] = entry.error

    def add(self, entry: JournalEntry) -> None:
        """Add a finished point, or an error: once this returns, it is kept whatever happens."""
        line = msgspec.json.encode(entry) + b"\n"
        written = os.write(self._file, line)
        while written < len(line):  # A signal, or a disk that is full: the next call says which.
            written += os.write(self._file, line[written:])
        self._take(entry, self.done)

    def finish(self) -> None:
        """Turn it into a part, and remove it."""
        if self.done.errors:
            path = self._folder / ERRORS / f"{self._batch}.json"
            write_atomically(path, msgspec.json.encode(self.done.errors))
        if self.done.rows:
            path = part_path(self._folder, self._batch)
            if path.exists():
                # Points beyond those of the part: another name keeps parts as they were written.
                path = part_path(self._folder, f"{self._batch}-{next(iter(self.done.rows))[:8]}")
            write_part(path, list(self.done.rows.values()))
            self.done.stored |= set(self.done.rows)
        self.path.unlink()


def recover(folder: Path, waiting: Callable[[int], None] = lambda _: None) -> None:
    """Turn the journals of a killed sweep into parts.

    Journals that its workers still write are waited for; `waiting` receives their number.
    """
    left = sorted((folder / JOURNAL).glob("*.jsonl"))
    in_use: list[Path] = []
    for path in left:
        journal = Journal(folder, path.stem)
        try:
            journal.lock(wait=False)
        except BlockingIOError:
            in_use.append(path)
            continue
        with contextlib.closing(journal):
            _keep_finished(journal)
    if in_use:
        waiting(len(in_use))
    for path in in_use:
        with Journal(folder, path.stem) as journal:
            _keep_finished(journal)


def kept(folder: Path, batch: str) -> set[str]:
    """Turn a batch's journal into a part, if there is one; return the stored points."""
    with Journal(folder, batch) as journal:
        _keep_finished(journal)
        return journal.done.stored


def _keep_finished(journal: Journal) -> None:
    # Failed points are tried again.
    journal.done.errors.clear()
    journal.finish()

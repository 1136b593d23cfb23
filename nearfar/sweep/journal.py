"""The finished points of a batch, in a journal that survives the process that writes it.

A line is one finished point or one error. The journal is locked while a process writes it: if Dask
restarts a batch because it wrongly believes a worker dead, the second worker waits for the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from nearfar.base.files import write_atomically
from nearfar.base.journal import Journal, JournalInUseError
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
        """Return whether the point is computed, or failed."""
        return point in self.rows or point in self.errors or point in self.stored

    def take(self, entry: JournalEntry) -> None:
        """Add the content of a journal line: a point's row or its error."""
        if entry.row is not None:
            self.rows[entry.row.point] = entry.row
        else:
            self.errors[entry.point] = entry.error


class BatchJournal:
    """A batch's journal, locked while it is open; JournalInUseError if another process has it."""

    def __init__(self, folder: Path, batch: str, *, wait: bool = True) -> None:
        self._folder, self._batch = folder, batch
        path = folder / JOURNAL / f"{batch}.jsonl"
        self._journal = Journal.open(path, JournalEntry, wait=wait)
        self.done = FinishedPoints()
        part = part_path(folder, batch)
        if part.exists():
            self.done.stored.update(ids_of(part))
        errors = folder / ERRORS / f"{batch}.json"
        if errors.exists():
            self.done.errors |= msgspec.json.decode(errors.read_bytes(), type=dict[str, str])
        for entry in self._journal.records():
            self.done.take(entry)

    def __enter__(self) -> BatchJournal:
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()

    def add(self, entry: JournalEntry) -> None:
        """Add a finished point or an error; once this returns, it survives the process."""
        self._journal.append(entry)
        self.done.take(entry)

    def finish(self) -> None:
        """Convert the journal to a part and remove it."""
        if self.done.errors:
            path = self._folder / ERRORS / f"{self._batch}.json"
            write_atomically(path, msgspec.json.encode(self.done.errors))
        if self.done.rows:
            path = part_path(self._folder, self._batch)
            if path.exists():
                # The part exists and lacks points: write a second part, since parts never change.
                path = part_path(self._folder, f"{self._batch}-{next(iter(self.done.rows))[:8]}")
            write_part(path, list(self.done.rows.values()))
            self.done.stored |= set(self.done.rows)
        self._journal.discard()


def recover(folder: Path, waiting: Callable[[int], None] = lambda _: None) -> None:
    """Convert the journals of a killed sweep to parts.

    Waits for journals that workers still write; `waiting` receives their number.
    """
    in_use: list[str] = []
    for path in sorted((folder / JOURNAL).glob("*.jsonl")):
        try:
            kept(folder, path.stem, wait=False)
        except JournalInUseError:
            in_use.append(path.stem)
    if in_use:
        waiting(len(in_use))
    for batch in in_use:
        kept(folder, batch)


def kept(folder: Path, batch: str, *, wait: bool = True) -> set[str]:
    """Convert a batch's journal, if any, to a part; return the ids of its stored points."""
    with BatchJournal(folder, batch, wait=wait) as journal:
        # Failed points are tried again.
        journal.done.errors.clear()
        journal.finish()
        return journal.done.stored

"""Rows of a file that hold no measurement: left out and counted, unless there are many of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nearfar.base.errors import NearfarError

MAX_BAD_SHARE = 0.1
"""Bad rows over all rows up to which the others are used: more are another format or another
unit. Published curves have up to 6 % (counters below zero at idle)."""


class BadRows:
    """Counts the rows of a file, and keeps the reason for each that is left out."""

    def __init__(self) -> None:
        self.rows = 0
        self.reasons: list[str] = []

    @contextmanager
    def row(self) -> Iterator[None]:
        """Count a row; leave it out if reading it raises NearfarError."""
        self.rows += 1
        try:
            yield
        except NearfarError as error:
            self.reasons.append(str(error))

    def drop(self, reason: str) -> None:
        """Leave out a row that was counted before."""
        self.reasons.append(reason)

    def notes(self, path: Path) -> list[str]:
        """Return a sentence on what was left out; raise NearfarError if it is too much."""
        if not self.reasons:
            return []
        bad = len(self.reasons)
        if bad > MAX_BAD_SHARE * self.rows:
            more = f" ({bad} of {self.rows} rows are bad)" if bad > 1 else ""
            raise NearfarError(self.reasons[0] + more)
        rows = "row" if bad == 1 else "rows"
        return [f"left out {bad} bad {rows} of {self.rows} in {path.name}: {self.reasons[0]}"]

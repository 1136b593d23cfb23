"""Cases: programs, inputs, machines and memories, as the source of a measurement names them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.base.files import write_atomically

NEEDED = ("id", "program", "input", "threads", "machine", "near_memory", "far_memory", "placement")
SCORED = ("id", "slowdown")
"""Columns that a file of measured slowdowns needs; the others only define groups and rivals."""
PREDICTED = ("id", "slowdown", "low", "high", "model", "commit", "assumed")
"""Columns of a file of predictions."""

KINDS = (
    ("memory mode", ("memory mode",)),
    ("remote optane", ("remote optane",)),
    ("optane", ("optane", "dcpmm", "pmem")),
    ("cxl fpga", ("fpga",)),
    ("cxl expander", ("cxl",)),
    ("remote dram", ("remote", "slow node")),
)
"""Kinds of far memory, and words in a case's memory by which they are recognised; the first match
counts."""


@dataclass(frozen=True)
class MemoryCase:
    """One program on one memory; the texts are the source's."""

    id: str
    program: str
    input: str
    threads: str
    machine: str
    near_memory: str
    far_memory: str
    placement: str
    near_seconds: float | None = None
    near_rate: float | None = None
    rate_unit: str = ""
    slowdown: float | None = None
    """Measured far time divided by near time; None if it is not given."""
    source: str = ""
    suspect: str = ""
    """Why the measurement is doubted; such a case is shown but not scored."""

    @property
    def memory_kind(self) -> str:
        """Return the kind of far memory."""
        text = f"{self.placement} {self.far_memory}".lower()
        return next((kind for kind, words in KINDS if any(w in text for w in words)), "other")

    @property
    def thread_count(self) -> int | None:
        """Return the number of threads, 1 if `threads` is empty; None: `threads` is no number."""
        first = self.threads.split()[0] if self.threads else "1"
        return int(first) if first.isdigit() else None


@dataclass(frozen=True)
class CasePrediction:
    """Prediction of a case; without a slowdown, `assumed` gives the reason."""

    id: str
    slowdown: float | None
    low: float | None
    high: float | None
    model: str
    commit: str
    assumed: str


def count_of_cases(count: int) -> str:
    """Return the number with its noun."""
    return "1 case" if count == 1 else f"{count} cases"


def read_cases(path: Path, needed: Sequence[str] = NEEDED) -> list[MemoryCase]:
    """Read cases from CSV. Raises NearfarError for a missing column or an invalid number."""
    rows = _read(path, needed)
    names = [*NEEDED, "rate_unit", "source", "suspect"]
    return [
        MemoryCase(
            **{name: (row.get(name) or "").strip() for name in names},
            near_seconds=_number(path, row, "near_seconds"),
            near_rate=_number(path, row, "near_rate"),
            slowdown=_number(path, row, "slowdown"),
        )
        for row in rows
    ]


def read_predictions(path: Path) -> list[CasePrediction]:
    """Read a file that `write_predictions` wrote, or another tool's with the same columns.

    Raises NearfarError as `read_cases` does, and for an interval whose low is above its high.
    """
    predictions = [
        CasePrediction(
            id=row["id"],
            slowdown=_number(path, row, "slowdown"),
            low=_number(path, row, "low"),
            high=_number(path, row, "high"),
            model=row["model"] or "",
            commit=row["commit"] or "",
            assumed=row["assumed"] or "",
        )
        for row in _read(path, PREDICTED)
    ]
    for each in predictions:
        if each.low is not None and each.high is not None and each.low > each.high:
            raise NearfarError(
                f"{path}: the interval of {each.id} is {each.low:g} to {each.high:g}, expected low "
                "at most high: correct the row"
            )
    return predictions


def write_predictions(predictions: Iterable[CasePrediction], path: Path) -> None:
    """Write predictions as CSV. An error leaves no partial file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(PREDICTED)
    for each in predictions:
        numbers = ("" if x is None else f"{x:.4f}" for x in (each.slowdown, each.low, each.high))
        writer.writerow([each.id, *numbers, each.model, each.commit, each.assumed])
    write_atomically(path, text.getvalue().encode())


def _read(path: Path, needed: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows of a CSV file; refuse a missing column and a repeated id."""
    try:
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise NearfarError(f"cannot read {path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise NearfarError(f"cannot read {path}: it is no CSV ({error})") from error
    missing = [name for name in needed if not rows or name not in rows[0]]
    if missing:
        raise NearfarError(
            f"{path} has no column {missing[0]!r}: expected CSV with {', '.join(needed)}"
        )
    ids = [row["id"] for row in rows]
    repeated_id = next((id for id in ids if ids.count(id) > 1), None)
    if repeated_id is not None:
        raise NearfarError(
            f"{path} has two rows with the id {repeated_id!r}: give each row its own"
        )
    return rows


def _number(path: Path, row: dict[str, str], name: str) -> float | None:
    text = (row.get(name) or "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0.0 < value < float("inf"):
        raise NearfarError(
            f"{path}: {name} of {row['id']} is {text!r}, expected a number above 0: correct the row"
        )
    return value

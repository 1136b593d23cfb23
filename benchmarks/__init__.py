"""The cost and accuracy of nearfar, each measured next to its peer.

`make benchmarks` runs every file in `rows/`; each yields `Row`s. A row is measured at once, A/B/A/B
with its peer. Results are kept by file with their commit (`results.py`).
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence

import msgspec

END_VARIABLE = "NEARFAR_ROWS_UNTIL"
"""Time of the monotonic clock, s, from which a file of rows should begin no further part."""


class Row(msgspec.Struct, kw_only=True):
    """Holds a line of the table."""

    name: str
    value: float
    unit: str
    peer: str
    """The peer: a tool, a build, or a closed form."""
    peer_value: float | None
    ratio: float | None
    """value / peer_value."""
    bar: str
    """The required value, such as "<= 1.5 x"."""
    holds: bool
    command: str
    """A command that shows the same."""
    note: str = ""
    """Other measured values, shown after the name; names are the same in every run."""

    @property
    def text(self) -> str:
        """The name with the note."""
        return f"{self.name} ({self.note})" if self.note else self.name


def make_row(
    name: str,
    value: float,
    unit: str,
    *,
    bar: float | None,
    at_most: bool = True,
    judge: str = "value",
    peer: str,
    peer_value: float | None = None,
    command: str,
    note: str = "",
) -> Row:
    """Build a row; `judge` ("value" or "ratio") must be at most, or at least, `bar`.

    Without a bar, the row only shows its value.
    """
    value = float(value)  # numpy's numbers are no JSON
    peer_value = None if peer_value is None else float(peer_value)
    ratio = value / peer_value if peer_value else None
    judged = ratio if judge == "ratio" else value
    if judged is None:
        raise ValueError(f"row {name!r} is judged by its ratio and has no peer_value")
    holds = bar is None or (judged <= bar if at_most else judged >= bar)
    sign = "<=" if at_most else ">="
    suffix = " x peer" if judge == "ratio" else f" {unit}"
    return Row(
        name=name,
        value=value,
        unit=unit,
        peer=peer,
        peer_value=peer_value,
        ratio=ratio,
        bar="none" if bar is None else f"{sign} {bar:g}{suffix}",
        holds=holds,
        command=command,
        note=note,
    )


def in_time() -> bool:
    """Return whether a file of rows may begin another part; a run without ONLY= has its limits."""
    return time.monotonic() < float(os.environ.get(END_VARIABLE, "inf"))


def alternate(variants: Sequence[Callable[[], float]], repetitions: int) -> list[list[float]]:
    """Run A, B, C, A, B, C ... and return each variant's samples; drift affects all equally."""
    samples: list[list[float]] = [[] for _ in variants]
    for _ in range(repetitions):
        for kept, variant in zip(samples, variants, strict=True):
            kept.append(variant())
    return samples


def paired_ratio(numerator: Sequence[float], denominator: Sequence[float]) -> float:
    """Return the median of the ratios of consecutive samples."""
    return statistics.median(a / b for a, b in zip(numerator, denominator, strict=True))


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return statistics.geometric_mean(values)


def wall_seconds(run: Callable[[], object]) -> float:
    """Return the wall-clock seconds of `run`."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start

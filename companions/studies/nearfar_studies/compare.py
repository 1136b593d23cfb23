"""Tables of published figures next to ours, and their errors."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from nearfar.documents.study import ComparisonRow, ComparisonTable, Errors, TextTable


def row(
    what: str,
    published: float | None,
    ours: float | None,
    *,
    interval: tuple[float, float] | None = None,
    rivals: dict[str, float] | None = None,
    judged: bool = True,
    note: str = "",
) -> ComparisonRow:
    """Return one comparison with its difference."""
    low, high = interval if interval is not None else (None, None)
    return ComparisonRow(
        what=what,
        published=None if published is None else float(published),
        ours=None if ours is None else float(ours),
        difference=relative(ours, published),
        low=None if low is None else float(low),
        high=None if high is None else float(high),
        rivals={name: float(value) for name, value in (rivals or {}).items()},
        judged=bool(judged),
        note=note,
    )


def table(
    title: str, cited: str, unit: str, rows: Iterable[ComparisonRow], note: str = ""
) -> ComparisonTable:
    """Return a table with the errors of ours and of every rival over its judged rows."""
    listed = list(rows)
    judged = [r for r in listed if r.judged and r.published]
    by_name: dict[str, list[float]] = {}
    for each in judged:
        for name, value in {"ours": each.ours, **each.rivals}.items():
            error = relative(value, each.published)
            if error is not None:
                by_name.setdefault(name, []).append(error)
    return ComparisonTable(
        title=title,
        cited=cited,
        unit=unit,
        rows=listed,
        errors={name: errors(values) for name, values in by_name.items()},
        note=note,
    )


def facts(*sentences: str) -> TextTable:
    """Return facts about the source or a rule, which do not depend on the result."""
    return TextTable(
        title="notes on the source and on this study",
        columns=["note"],
        rows=[[s] for s in sentences],
    )


def errors(relative_errors: list[float]) -> Errors:
    """Return mean and greatest absolute error and the mean with sign."""
    count = len(relative_errors)
    return Errors(
        mean=sum(abs(e) for e in relative_errors) / count,
        max=max(abs(e) for e in relative_errors),
        bias=sum(relative_errors) / count,
        rows=count,
    )


def column(compared: ComparisonTable, name: str = "ours") -> NDArray[np.float64]:
    """Return ours, published or a rival's figures of every row, for drawing; NaN if missing."""
    values = [
        row.published if name == "published" else row.ours if name == "ours" else row.rivals[name]
        for row in compared.rows
    ]
    return np.array([np.nan if value is None else value for value in values])


def covered(compared: ComparisonTable) -> tuple[int, int]:
    """Return the number of judged figures inside our intervals, and the number judged."""
    with_interval = [
        r for r in compared.rows if r.judged and r.published is not None and r.low is not None
    ]
    inside = sum((r.low or 0.0) <= (r.published or 0.0) <= (r.high or 0.0) for r in with_interval)
    return inside, len(with_interval)


def relative(ours: float | None, published: float | None) -> float | None:
    """Return ours / published - 1; None if either is missing."""
    if ours is None or not published:
        return None
    return float(ours) / float(published) - 1.0


def percent(fraction: float, signed: bool = False) -> str:
    """Return a fraction as a percentage with one decimal."""
    return f"{fraction * 100:{'+' if signed else ''}.1f} %"


def mean_max(error: Errors) -> str:
    """Return an error's mean and maximum in words."""
    return f"{percent(error.mean)} mean, {percent(error.max)} at most"

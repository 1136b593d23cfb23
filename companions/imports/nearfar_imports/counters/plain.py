"""Plain CSV: a column of times in seconds, and columns of counts with names that nearfar knows."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.documents.counters import QUANTITIES, CounterProfile
from nearfar_imports.counters.names import quantity
from nearfar_imports.counters.sums import CounterSums

TIMES = ("time", "time_s", "time (s)", "time [s]", "end_s", "seconds", "timestamp")


def read(path: Path, text: str, cumulative: bool = False) -> CounterProfile:
    """Read lines of counts per interval, or since the start if `cumulative`.

    A time is the end of its interval. The first line of cumulative counts is their start.
    """
    head = text.lstrip().split("\n", 1)[0]
    separator = max(",;\t", key=head.count)
    lines = csv.reader(text.splitlines(), delimiter=separator)
    rows = [row for row in lines if any(word.strip() for word in row)]
    if separator != "," and rows:  # decimals may have commas
        rows = [rows[0], *([word.replace(",", ".") for word in row] for row in rows[1:])]
    columns = [word.strip() for word in rows[0]] if rows else []
    lower = [column.lower() for column in columns]
    times = [at for at, column in enumerate(lower) if column in TIMES]
    places = {at: known for at, column in enumerate(columns) if (known := _known(column))}
    if len(times) != 1 or not places:
        raise CommandError(
            f"{path} needs a header line with one column of times ({', '.join(TIMES)}, in s) and "
            f"columns of counts such as {', '.join(QUANTITIES[:4])}"
        )
    sums = CounterSums(path, "csv")
    unused = [word for at, word in enumerate(columns) if at not in places and at != times[0]]
    if unused:
        sums.warnings.append(
            f"columns not used, since their names are neither of {', '.join(QUANTITIES)} nor of "
            f"perf's events: {', '.join(unused)}"
        )
    before_s: float | None = None
    last: dict[int, float] = {}
    begin_s = 0.0
    for number, row in enumerate(rows[1:], 2):
        end_s = _number(row[times[0]]) if times[0] < len(row) else None
        if end_s is None or end_s < 0 or (before_s is not None and end_s <= before_s):
            raise CommandError(f"{path}, line {number}: time must be a number and advance")
        first = before_s is None
        before_s = end_s
        for at, (name, factor) in places.items():
            count = _number(row[at]) if at < len(row) else None
            if cumulative and count is not None:
                previous, last[at] = last.get(at), count
                count = None if previous is None else count - previous
            if cumulative and first:
                begin_s = end_s
            elif count is None:
                sums.add_missing(end_s, name, columns[at])
            else:
                sums.add(end_s, name, columns[at], count * factor)
    return sums.finish(begin_s)


def _known(column: str) -> tuple[str, float] | None:
    return (column, 1.0) if column in QUANTITIES else quantity(column)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number  # an empty cell of a table

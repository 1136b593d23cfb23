"""`pcm -csv` and `pcm-memory -csv`: two header lines, the first of which names groups.

Only columns of the group System are used. `pcm` counts instructions (INST), cycles (ACYC) and L3
misses in millions and bytes (READ, WRITE) in GB per interval; `pcm-memory` MB/s (Read, Write).
"""

from __future__ import annotations

import csv
import datetime
import itertools
import statistics
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.documents.counters import CounterProfile
from nearfar_imports.counters.sums import CounterSums

_PER_INTERVAL = {
    "INST": ("instructions", 1e6),
    "ACYC": ("cycles", 1e6),
    "L3MISS": ("llc_misses", 1e6),
    "READ": ("read_bytes", 1e9),
    "WRITE": ("write_bytes", 1e9),
}
_PER_SECOND = {"Read": ("read_bytes", 1e6), "Write": ("write_bytes", 1e6)}


def read(path: Path, text: str) -> CounterProfile:
    """Read PCM's lines."""
    head = text.splitlines()[:2]
    separator = ";" if head and head[0].count(";") > head[0].count(",") else ","
    rows = [row for row in csv.reader(text.splitlines(), delimiter=separator) if any(row)]
    if len(rows) < 3:
        raise CommandError(f"{path} has no interval: expected two header lines and lines of counts")
    groups, columns = _groups(rows[0], len(rows[1])), [word.strip() for word in rows[1]]
    places = {
        at: column
        for at, (group, column) in enumerate(zip(groups, columns, strict=True))
        if group == "System" and (column in _PER_INTERVAL or column in _PER_SECOND)
    }
    if columns[:2] != ["Date", "Time"] or not places:
        raise CommandError(
            f"{path} is not PCM's: expected a header (Date, Time, ...) and columns of System"
        )
    ends = [_timestamp(path, row) for row in rows[2:]]
    steps = [after - before for before, after in itertools.pairwise(ends)]
    if any(step <= 0 for step in steps):
        raise CommandError(f"{path}: time does not advance from each line to the next")
    usual_s = statistics.median(steps) if steps else 1.0
    sums = CounterSums(path, "pcm")
    sums.warnings.append(
        f"PCM does not state when its first interval began: assumed to be {usual_s:g} s long"
        if steps
        else "PCM wrote one line: its interval is assumed to be 1 s long"
    )
    for row, end, step in zip(rows[2:], ends, [usual_s, *steps], strict=True):
        end_s = end - ends[0] + usual_s
        for at, column in places.items():
            text_of = row[at].strip() if at < len(row) else ""
            rate = column in _PER_SECOND
            name, factor = _PER_SECOND[column] if rate else _PER_INTERVAL[column]
            try:
                count = float(text_of) * factor * (step if rate else 1.0)
            except ValueError:
                sums.add_missing(end_s, name, column)
                continue
            sums.add(end_s, name, column, count)
    return sums.finish()


def _groups(row: list[str], count: int) -> list[str]:
    """Return each column's group, whose name is over its first column or over each."""
    groups: list[str] = []
    for word in [*row, *[""] * (count - len(row))][:count]:
        groups.append(word.strip() or (groups[-1] if groups else ""))
    return groups


def _timestamp(path: Path, row: list[str]) -> float:
    date, time = row[0].strip(), row[1].strip()
    for form in ("%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S"):
        try:
            moment = datetime.datetime.strptime(f"{date} {time}", form)
        except ValueError:
            continue
        return moment.replace(tzinfo=datetime.UTC).timestamp()
    raise CommandError(f"{path}: {date} {time} is not a date and time as PCM writes them")

"""`likwid-perfctr -O` (or `-o FILE.csv`): tables of events and metrics, one column per CPU."""

from __future__ import annotations

import csv
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.counters.gather import Gathering
from nearfar.counters.names import quantity
from nearfar.documents.counters import CounterProfile

_VOLUMES = {
    "Memory read data volume [GBytes]": "read_bytes",
    "Memory write data volume [GBytes]": "write_bytes",
}
"""Metrics of the group MEM; the events they come from have a name per memory channel."""
_RUNTIME = "Runtime (RDTSC) [s]"


def read(path: Path, text: str) -> CounterProfile:
    """Read LIKWID's tables: CPUs are added up, the run is one interval."""
    if text.lstrip().startswith("# GID"):
        raise CommandError(
            f"{path} is of LIKWID's timeline mode (-t), whose columns have no names: count without "
            "-t, or name the columns and import it as --format csv"
        )
    gathering = Gathering(path, "likwid")
    runtime_s, table = 0.0, ""
    found: list[tuple[str, str, float]] = []
    for row in csv.reader(text.splitlines()):
        if not row:
            continue
        if row[0] == "TABLE":
            table = row[1] if len(row) > 1 else ""
            continue
        if "STAT" in table:
            continue  # sums of the same
        numbers = [value for word in row[1:] if (value := _number(word)) is not None]
        if row[0] == _RUNTIME and numbers:
            runtime_s = max(runtime_s, *numbers)
        elif row[0] in _VOLUMES and numbers:
            # Counted once per socket; LIKWID repeats zeros for its other CPUs.
            found.append((_VOLUMES[row[0]], row[0], 1e9 * sum(numbers)))
        elif "Raw" in table and (known := quantity(row[0])) is not None and numbers:
            found.append((known[0], row[0], known[1] * sum(numbers)))
    if not runtime_s > 0:
        raise CommandError(
            f"{path} has no line {_RUNTIME!r}: write it with likwid-perfctr -O -g GROUP"
        )
    for name, event, count in found:
        gathering.add(runtime_s, name, event, count)
    return gathering.finish()


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

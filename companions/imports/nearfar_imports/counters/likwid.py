"""`likwid-perfctr -O` (or `-o FILE.csv`): tables of events and metrics, one column per CPU."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.documents.counters import CounterProfile
from nearfar_imports.counters.names import quantity
from nearfar_imports.counters.sums import CounterSums

_VOLUMES = {
    "Memory read data volume [GBytes]": "read_bytes",
    "Memory write data volume [GBytes]": "write_bytes",
}
"""Metrics of the group MEM, whose events have a name per memory channel."""
_RUNTIME = "Runtime (RDTSC) [s]"


@dataclass
class _Part:
    """Counts of one region of the marker interface, or of the whole run."""

    runtime_s: float = 0.0
    counts: list[tuple[str, str, float]] = field(default_factory=list)


def read(path: Path, text: str) -> CounterProfile:
    """Read LIKWID's tables: CPUs are summed, the run or each marked region is one interval."""
    if text.lstrip().startswith("# GID"):
        raise CommandError(
            f"{path} was written by LIKWID's timeline mode (-t), whose columns have no names: "
            "count without -t, or name the columns and import it with --format csv"
        )
    parts = _parts(path, text)
    sums = CounterSums(path, "likwid")
    if len(parts) > 1:
        sums.warnings.append(
            f"marked regions, one after the other: {', '.join(parts)}; time between is left out"
        )
    end_s = 0.0
    for region, part in parts.items():
        if not part.runtime_s > 0:
            where = f" for region {region}" if region else ""
            raise CommandError(
                f"{path} has no line {_RUNTIME!r}{where}: write it with likwid-perfctr -O -g GROUP"
            )
        end_s += part.runtime_s
        volumes = {name for name, event, _ in part.counts if event in _VOLUMES}
        for name, event, count in part.counts:
            # The group MEM has both the channels' events and the volume derived from them.
            if name not in volumes or event in _VOLUMES:
                sums.add(end_s, name, event, count)
    return sums.finish()


def _parts(path: Path, text: str) -> dict[str, _Part]:
    """Return the counts by region, the whole run's under ""."""
    parts: dict[str, _Part] = {}
    part, title, groups = _Part(), "", set[str]()
    for row in csv.reader(text.splitlines()):
        if not row:
            continue
        if row[0] == "TABLE":
            region = row[1].removeprefix("Region ") if row[1:2] and "Region " in row[1] else ""
            title = row[2] if region and len(row) > 2 else row[1] if len(row) > 1 else ""
            if group := re.match(r"Group \d+", title):
                groups.add(group[0])
                part = parts.setdefault(region, _Part())
            continue
        if title.upper().endswith(" STAT"):
            continue  # sums of the other tables
        numbers = [value for word in row[1:] if (value := _number(word)) is not None]
        if row[0] == _RUNTIME and numbers:
            part.runtime_s = max(part.runtime_s, *numbers)
        elif row[0] in _VOLUMES and numbers:
            # Counted once per socket; LIKWID writes zeros for the socket's other CPUs.
            part.counts.append((_VOLUMES[row[0]], row[0], 1e9 * sum(numbers)))
        elif "Raw" in title and (known := quantity(row[0])) is not None and numbers:
            part.counts.append((known[0], row[0], known[1] * sum(numbers)))
    if len(groups) > 1:
        raise CommandError(
            f"{path} has {len(groups)} groups of events, which took turns: count one at a time "
            "(likwid-perfctr -g MEM)"
        )
    return parts or {"": _Part()}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

"""The rows of fleet.py at a million profiles: 12 GB of files."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks import Row
from benchmarks.rows.fleet import fleet_rows

SECONDS = 180
LONG = True

PROFILES = 1_000_000


def rows() -> Iterable[Row]:
    """Write the profiles, then sum them twice."""
    yield from fleet_rows(PROFILES, bar_s=60.0, bar_gib=1.0, command="ONLY=fleet_million")

"""A sweep over three hosts of namespaces, killed at random: one of the schedules of test-long."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Row, make_row
from benchmarks.three_hosts import KILLS, POINTS, survive, why_not

SECONDS = 150
LONG = True
SEED = 2
DEADLINE_S = 300.0


def rows() -> Iterator[Row]:
    """Run the schedule; no row where the machine cannot have such hosts."""
    if reason := why_not():
        print(f"sweep_hosts: no row, since there are {reason}")
        return
    wrong = 0.0
    with tempfile.TemporaryDirectory(prefix="nearfar-hosts-row-") as folder:
        try:
            print("killed:", ", ".join(survive(Path(folder), SEED, lambda: DEADLINE_S)))
        except AssertionError as error:
            print(error)
            wrong = 1.0
    yield make_row(
        f"schedules of {KILLS} kills on three hosts after which {POINTS} points are not as "
        "undisturbed, of 1",
        wrong,
        "schedules",
        bar=0.0,
        peer="none",
        command="make benchmarks ONLY=sweep_hosts",
    )

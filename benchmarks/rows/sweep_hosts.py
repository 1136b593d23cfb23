"""A sweep over three hosts of namespaces, killed at random: the schedules of test-long.

Each takes minutes, so finished ones are kept: an interrupted row goes on with the next.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Row, make_row
from benchmarks.kept import Kept
from benchmarks.three_hosts import KILLS, POINTS, SCHEDULES, survive, why_not

SECONDS = 60 * SCHEDULES
LONG = True
DEADLINE_S = 300.0


def rows() -> Iterator[Row]:
    """Run the schedules; no row where the machine cannot have such hosts."""
    if reason := why_not():
        print(f"sweep_hosts: no row, since there are {reason}")
        return
    code = [Path("benchmarks/three_hosts.py"), *sorted(Path("nearfar/sweep").glob("*.py"))]
    kept = Kept("sweep_hosts", code)
    wrong = 0
    for seed in range(1, SCHEDULES + 1):
        error = kept.get(str(seed), str, lambda seed=seed: _error_of(seed))  # type: ignore[misc]
        if error:
            print(f"  sweep_hosts: schedule {seed}: {error}")
            wrong += 1
    kept.finish()
    yield make_row(
        f"schedules of {KILLS} kills on three hosts after which {POINTS} points are not as "
        f"undisturbed, of {SCHEDULES}",
        float(wrong),
        "schedules",
        bar=0.0,
        peer="none",
        command="make benchmarks ONLY=sweep_hosts",
    )


def _error_of(seed: int) -> str:
    """Run a schedule; return what is wrong after it, "" for nothing."""
    with tempfile.TemporaryDirectory(prefix="nearfar-hosts-row-") as folder:
        try:
            killed = survive(Path(folder), seed, lambda: DEADLINE_S)
        except AssertionError as error:
            return str(error) or "data differ"
    print(f"  sweep_hosts: schedule {seed} is as undisturbed; killed: {', '.join(killed)}")
    return ""

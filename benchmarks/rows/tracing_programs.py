"""The cost of tracing for real programs: `nearfar profile`'s own figure, in several runs.

lua's interpreter, memcached and LMDB, with the workloads of `benchmarks/range_programs.py`. Each
run of `nearfar profile` times the plain build and the traced one, one after the other.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from benchmarks import Row, make_row
from benchmarks.range_programs import profile_of, programs

SECONDS = 90

NAMES = ("lua", "memcached", "LMDB")
RUNS = 3


def rows() -> Iterator[Row]:
    """Yield a row for each program that can be built here."""
    for name in NAMES:
        try:
            program = programs()[name]()
            slowdowns = [profile_of(program, options=()).instrumented_slowdown for _ in range(RUNS)]
        except RuntimeError as error:
            print(f"tracing_programs: no row of {name}: {error}")
            continue
        yield make_row(
            f"tracing slowdown, {name}",
            statistics.median(slowdowns),
            "x plain",
            bar=1.2,
            peer="plain build",
            command="make benchmarks ONLY=tracing_programs",
            note=f"{min(slowdowns):.2f} to {max(slowdowns):.2f}",
        )

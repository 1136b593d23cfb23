"""How many of the seeded bugs `nearfar crash` finds, how long the slowest takes, and what it says
of programs that are right."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Row, make_row

PITFALLS = Path(__file__).parents[2] / "examples" / "pitfalls"
COMMAND = "make benchmarks ONLY=seeded_bugs"
LEAST_FOUND = 20
"""Seeded bugs found,"""
MOST_S = 60.0
"""each within so many seconds."""

MEND_S = 15.0
"""Of a right program, so that all of it takes less than four minutes; the long tests take one."""


def rows() -> Iterator[Row]:
    """Yield found bugs, the slowest of them, and reports on the mends."""
    sys.path.insert(0, str(PITFALLS))
    import pitfalls

    found: list[float] = []
    missed: list[str] = []
    reports: set[str] = set()
    mends: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="nearfar-rows-") as name:
        folder = Path(name)
        for one in pitfalls.pitfalls():
            try:
                answer = pitfalls.explore(one, folder)
            except pitfalls.AbsentError as error:
                print(f"seeded_bugs: without {one.name}: {error}")
                continue
            if set(one.expect) <= set(answer.found()):
                found.append(answer.seconds)
            else:
                missed.append(one.name)
            if one.mend not in mends:
                mends.add(one.mend)
                if pitfalls.explore(one, folder, mended=True, seconds=MEND_S).found():
                    reports.add(one.mend)
    if missed:
        print(f"seeded_bugs: not found: {', '.join(missed)}")
    if not found:
        return
    yield make_row(
        f"crash: seeded bugs found, of {len(found) + len(missed)}",
        float(len(found)),
        "bugs",
        bar=LEAST_FOUND,
        at_most=False,
        peer="the issue",
        command=COMMAND,
    )
    yield make_row(
        "crash: slowest seeded bug, recording and all",
        max(found),
        "s",
        bar=MOST_S,
        peer="the issue",
        command=COMMAND,
    )
    yield make_row(
        f"crash: reported of {len(mends)} right programs, {MEND_S:g} s each",
        float(len(reports)),
        "programs",
        bar=0.0,
        peer="the issue",
        command=COMMAND,
    )

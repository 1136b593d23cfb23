"""Seeded bugs that `nearfar crash` finds, how soon, and false reports."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Row, make_row

SECONDS = 100

PITFALLS = Path(__file__).parents[2] / "examples" / "pitfalls"
COMMAND = "make benchmarks ONLY=seeded_bugs"
MIN_FOUND = 60
"""Fewest seeded bugs found."""
MAX_MEDIAN_S = 2.0
MAX_S = 30.0
"""Time to the first report of a bug, recording included: median and slowest."""
MAX_STATES = 100
"""Most states judged before a bug."""
FIX_S = 60.0
"""Time limit for each correct program; most are explored completely before."""


def rows() -> Iterator[Row]:
    """Yield the found bugs, the slowest of them, and reports on the fixes."""
    sys.path.insert(0, str(PITFALLS))
    import pitfalls

    seconds: list[float] = []
    states: list[int] = []
    missed: list[str] = []
    reports: set[str] = set()
    fixes: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="nearfar-rows-") as name:
        folder = Path(name)
        for pitfall in pitfalls.pitfalls():
            try:
                answer = pitfalls.explore(pitfall, folder)
            except pitfalls.AbsentError as error:
                print(f"seeded_bugs: without {pitfall.name}: {error}")
                continue
            if set(pitfall.expect) <= set(answer.kinds()):
                seconds.append(answer.first_s)
                states.append(answer.first_states or 0)
            else:
                missed.append(pitfall.name)
            if pitfall.fix not in fixes:
                fixes.add(pitfall.fix)
                if pitfalls.explore(pitfall, folder, fixed=True, seconds=FIX_S).kinds():
                    reports.add(pitfall.fix)
    if missed:
        print(f"seeded_bugs: not found: {', '.join(missed)}")
    if not seconds:
        return
    yield make_row(
        f"crash: seeded bugs found, of {len(seconds) + len(missed)}",
        float(len(seconds)),
        "bugs",
        bar=MIN_FOUND,
        at_most=False,
        peer="seeded",
        peer_value=float(len(seconds) + len(missed)),
        command=COMMAND,
    )
    yield make_row(
        "crash: median time to a seeded bug, recording and all",
        statistics.median(seconds),
        "s",
        bar=MAX_MEDIAN_S,
        peer="none: no other tool runs these programs",
        command=COMMAND,
    )
    yield make_row(
        "crash: slowest seeded bug, recording and all",
        max(seconds),
        "s",
        bar=MAX_S,
        peer="none: no other tool runs these programs",
        command=COMMAND,
    )
    yield make_row(
        "crash: most states before a seeded bug",
        float(max(states)),
        "states",
        bar=MAX_STATES,
        peer="none: no other tool runs these programs",
        command=COMMAND,
    )
    yield make_row(
        f"crash: reported of {len(fixes)} right programs, {FIX_S:g} s each",
        float(len(reports)),
        "programs",
        bar=0.0,
        peer="0: they are right",
        command=COMMAND,
    )

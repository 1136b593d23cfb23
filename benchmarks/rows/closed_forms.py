"""Programs with a far time known in closed form, on every library device."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from benchmarks import Row, make_row

TESTS = Path(__file__).parents[2] / "tests"
KINDS = {
    "below": "times below what the far memory's figures allow",
    "above": "times above what the far memory's figures allow",
    "order": "programs that do more and take less",
    "interval": "intervals without their value",
    "width": "intervals without a width, of programs that miss",
    "unreached": "intervals that miss what figures allow, of waiting loads in inline assembly",
    "unreached stream": "intervals that miss it, of streams in inline assembly that nobody counted",
    "silent": "predictions without a caveat, of loads in inline assembly",
    "cached": "slowdowns of programs whose data fit in the cache",
}


def rows() -> Iterable[Row]:
    """Judge every program at every point of the grid, and count violations by kind."""
    sys.path[:0] = [str(TESTS / folder) for folder in ("python", "closed_forms")]
    from form_grid import WHOLE, fars, near_device
    from judge_forms import judge
    from paper_programs import in_assembly, programs

    memories, judged = fars(), 0
    counts: Counter[str] = Counter()
    for near, hiding, lines, threads in WHOLE:
        # Apart: what a profile leaves out, it may have left out in every phase.
        for forms in (programs(lines, threads), in_assembly(lines, threads)):
            judged += len(forms) * len(memories)
            for wrong in judge(forms, near_device(near), memories, hiding):
                counts[wrong.kind] += 1
                print(wrong)
    for kind, words in KINDS.items():
        yield make_row(
            f"closed forms: {words}, of {judged:,} predictions on {len(memories)} devices",
            counts[kind],
            "",
            bar=0,
            peer="the figures of each device",
            command="make benchmarks ONLY=closed_forms",
        )

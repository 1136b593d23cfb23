"""Programs with a far time known in closed form, on every library device."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import Row, make_row

SECONDS = 400
COMPUTES = True
LONG = True

TESTS = Path(__file__).parents[2] / "tests"
KINDS = {
    "below": "times below what the far memory's figures allow",
    "above": "times above what the far memory's figures allow",
    "order": "programs that do more and take less",
    "interval": "intervals without their value",
    "width": "intervals without a width, of programs that miss",
    "cached": "slowdowns of programs whose data fit in the cache",
}
ASSEMBLY_KINDS = {
    "below": KINDS["below"],
    "above": KINDS["above"],
    "width": KINDS["width"],
    "unreached": "intervals that miss what figures allow, where nothing counted the lines",
    "unreached bandwidth": "the same where far bandwidth is the limit",
    "silent": "predictions without a caveat",
}
FEW_LINES = 1 << 20
"""Lines that a phase must leave out before its counts show it: 30 of those sampled."""


def rows() -> Iterable[Row]:
    """Judge every program at every point of the grid, and count violations by kind."""
    sys.path[:0] = [str(TESTS / folder) for folder in ("python", "closed_forms")]
    from form_grid import WHOLE
    from paper_programs import in_assembly, programs

    yield from _judged("closed forms", programs, WHOLE, KINDS)
    many = [point for point in WHOLE if point[2] >= FEW_LINES]
    yield from _judged("closed forms in inline assembly", in_assembly, many, ASSEMBLY_KINDS)


def _judged(
    title: str,
    programs: Callable[[float, int], Sequence[Any]],
    points: Sequence[tuple[str, Any, int, int]],
    kinds: Mapping[str, str],
) -> Iterable[Row]:
    from form_grid import fars, near_device
    from judge_forms import judge

    memories, judged = fars(), 0
    counts: Counter[str] = Counter()
    for near, hiding, lines, threads in points:
        forms = programs(lines, threads)
        judged += len(forms) * len(memories)
        for wrong in judge(forms, near_device(near), memories, hiding):
            counts[wrong.kind] += 1
            print(wrong)
    for kind, words in kinds.items():
        yield make_row(
            f"{title}: {words}, of {judged:,} predictions on {len(memories)} devices",
            counts[kind],
            "",
            bar=0,
            peer="the figures of each device",
            command="make benchmarks ONLY=closed_forms",
        )

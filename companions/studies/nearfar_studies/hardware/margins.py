"""Intervals of stand-in programs, and what leaving one group of cases out says of them.

Intervals of the models hold what nobody told: programs, cores, figures that are assumed. Sources
tell some of that, so with data directly in far memory intervals are wider than these cases need.
Their ends keep a share of their distance (a logarithm) from the value.
In Memory Mode an interval spans states of which one holds (pages in one piece or scattered, lines
in order or one by one), so it keeps its width, and both ends move out by a margin for what a hit
in near memory costs there; the model charges nothing.

What a group of cases needs is the least with which its intervals hold 90 % of them. Cases of one
source share a machine, a program or both: they say little about each other, so groups are sources,
and programs within the one source of Memory Mode. Share and margin are what the group that needs
most needs, rounded up: what 90 % of all cases need is that of the source with most of them, and
held 1 of 4 cases of another source that was left out. The table has what the rule gives a group
without its own cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

import numpy as np

from nearfar.base.estimate import Estimate
from nearfar.documents.study import TextTable
from nearfar.predict.interval import LEVEL
from nearfar_studies.hardware.cases import CasePrediction, MemoryCase

WIDTH_SHARE = 0.72
"""Share of an end's distance from the value that is kept for data directly in far memory. The
source with the greatest need, pmemkv and RocksDB on Optane, needs 0.67 and 0.71 in two runs of the
study. All sources were known when models and stand-in programs were made: others may have larger
errors."""

MEMORY_MODE_MARGIN = 0.09
"""Logarithm by which both ends move outwards in Memory Mode: NPB's MG, the program with the
greatest need, needs 0.083."""

MIN_DISTANCE = 1e-9
"""Minimum distance of an end from the value."""


def in_memory_mode(case: MemoryCase) -> bool:
    """Return whether near memory caches the far one."""
    return case.memory_kind == "memory mode"


def interval_of(case: MemoryCase, slowdown: Estimate) -> tuple[float, float]:
    """Return the ends of a case's interval; `slowdown` has those of the model."""
    if in_memory_mode(case):
        return slowdown.low * exp(-MEMORY_MODE_MARGIN), slowdown.high * exp(MEMORY_MODE_MARGIN)
    low, high = (
        slowdown.value * (end / slowdown.value) ** WIDTH_SHARE
        for end in (slowdown.low, slowdown.high)
    )
    return low, high


def needed(each: CasePrediction, case: MemoryCase) -> float | None:
    """Return the need of a case: a share, or in Memory Mode a margin; None: it is not judged."""
    if each.low is None or each.high is None or not each.slowdown:
        return None
    if not case.slowdown or case.suspect:
        return None
    if in_memory_mode(case):
        low, high = each.low * exp(MEMORY_MODE_MARGIN), each.high * exp(-MEMORY_MODE_MARGIN)
        return max(log(low / case.slowdown), log(case.slowdown / high))
    error = log(case.slowdown / each.slowdown)
    end = each.high if error > 0.0 else each.low
    distance = abs(log(end / each.slowdown)) / WIDTH_SHARE
    return abs(error) / max(distance, MIN_DISTANCE)


def margins_table(predictions: Sequence[CasePrediction], cases: Sequence[MemoryCase]) -> TextTable:
    """Return each group's need, the rule that the other groups give, and its coverage."""
    groups: dict[tuple[str, str], list[float]] = {}
    for each, case in zip(predictions, cases, strict=True):
        value = needed(each, case)
        if value is not None:
            kind, group = ("share of the width", case.source)
            if in_memory_mode(case):
                kind, group = ("margin in Memory Mode", case.program)
            groups.setdefault((kind, group), []).append(value)
    used = {"share of the width": WIDTH_SHARE, "margin in Memory Mode": MEMORY_MODE_MARGIN}
    rows = []
    for (kind, group), values in groups.items():
        others = [
            _quantile(theirs)
            for key, theirs in groups.items()
            if key[0] == kind and key[1] != group
        ]
        given = max(others, default=np.nan)
        held = float(np.mean([value <= given for value in values]))
        rows.append(
            [
                group,
                kind,
                str(len(values)),
                f"{_quantile(values):.2f}",
                f"{given:.2f}" if others else "-",
                f"{held:.0%}" if others else "-",
                f"{used[kind]:.2f}",
            ]
        )
    return TextTable(
        title="widths of intervals: what 90 % of a group's cases need, what the other groups "
        "would give it (the one of them that needs most), and how many of its cases are held then",
        columns=["group", "figure", "cases", "needs", "left out, given", "holds then", "used"],
        rows=rows,
    )


def _quantile(values: Sequence[float]) -> float:
    return float(np.quantile(values, LEVEL, method="higher"))

"""Margins of intervals of programs in kind, and what leaving one group out says of them.

A program in kind is not the source's, so both ends of an interval move out by a margin. The margin
that a group of cases needs is the least with which its intervals hold 90 % of them; it is negative
where intervals are wider than that. Cases of one source share a machine, a program or both: they
say little about each other, so groups are sources, and programs within the one source of Memory
Mode. A margin is supported where the group that needs most, left out, would still be covered.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

import numpy as np

from nearfar.documents.study import TextTable
from nearfar.predict.interval import LEVEL
from nearfar_studies.hardware.cases import CasePrediction, MemoryCase

IN_KIND_MARGIN = 0.05
"""Logarithm by which both ends move out. No group of cases with data directly in far memory needs
more than 0; their programs in kind were written in sight of them, others may be further off."""

MEMORY_MODE_MARGIN = 0.09
"""The same in Memory Mode: what the program needs that needs most (0.083). With what the other two
need, its intervals would hold 2 of its 5 cases."""


def margin_of(case: MemoryCase) -> float:
    """Return the margin of a case's interval."""
    return MEMORY_MODE_MARGIN if case.memory_kind == "memory mode" else IN_KIND_MARGIN


def needed_margins(
    predictions: Sequence[CasePrediction], cases: Sequence[MemoryCase]
) -> dict[str, list[float]]:
    """Return the margin that each judged case needs, by group."""
    groups: dict[str, list[float]] = {}
    for each, case in zip(predictions, cases, strict=True):
        if each.low is None or each.high is None or not case.slowdown or case.suspect:
            continue
        low, high = each.low * exp(margin_of(case)), each.high * exp(-margin_of(case))
        needed = max(log(low / case.slowdown), log(case.slowdown / high))
        group = case.program if case.memory_kind == "memory mode" else case.source
        groups.setdefault(group, []).append(needed)
    return groups


def margins_table(predictions: Sequence[CasePrediction], cases: Sequence[MemoryCase]) -> TextTable:
    """Return what each group needs, and what it would be given by the others and holds then."""
    kinds = {
        case.program if case.memory_kind == "memory mode" else case.source: margin_of(case)
        for case in cases
    }
    groups = needed_margins(predictions, cases)
    least = {group: _quantile(needed) for group, needed in groups.items()}
    rows = []
    for group, needed in groups.items():
        others = [least[o] for o in groups if o != group and kinds[o] == kinds[group]]
        left_out = max(others, default=np.nan)
        held = float(np.mean([margin <= left_out for margin in needed])) if others else np.nan
        rows.append(
            [
                group,
                str(len(needed)),
                f"{least[group]:+.3f}",
                f"{left_out:+.3f}" if others else "-",
                f"{held:.0%}" if others else "-",
                f"{kinds[group]:+.3f}",
            ]
        )
    return TextTable(
        title="margins of intervals (logarithms): what 90 % of a group's cases need, and what the "
        "group of the same kind that needs most would give it",
        columns=["group", "cases", "needs", "left out, given", "holds then", "used"],
        rows=rows,
    )


def _quantile(needed: Sequence[float]) -> float:
    return float(np.quantile(needed, LEVEL, method="higher"))

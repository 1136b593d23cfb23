"""Widths of the intervals of stand-in programs, and their coverage of groups that are left out.

The models' intervals allow for unknown programs, cores and assumed figures. The sources state some
of these, so for data directly in far memory the intervals are too wide: each end keeps only a share
of its distance (a logarithm) from the value. In Memory Mode an interval spans several states, of
which a case has one (pages contiguous or scattered, lines in order or one by one). This interval
keeps its width, and both ends move outwards by a margin, because the model leaves out the cost of a
hit in near memory.

The *need* of a group of cases is the smallest share or margin whose intervals contain 90 % of the
group. Cases of one source share a machine or a program, so they are no independent evidence: a
group is a source, or in Memory Mode, which has one source, a program. The share and the margin in
use are the greatest need of any group, rounded up. The need of all cases together would be that of
the largest source: with it, the intervals contained 1 of 4 cases of another source that was left
out. The table shows for each group the share or margin that the other groups need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np

from nearfar.base.estimate import Estimate
from nearfar.documents.study import TextTable
from nearfar.predict.interval import LEVEL
from nearfar_studies.hardware.cases import CasePrediction, MemoryCase

WIDTH_SHARE = 0.72
"""Share of an end's distance from the value that is kept for data directly in far memory. The
source with the greatest need, pmemkv and RocksDB on Optane, needs 0.67, 0.71, 0.71 and 0.75 in four
runs of the study: the middle counts, rounded up. All sources were known when models and stand-in
programs were made: others may have larger errors."""

MEMORY_MODE_MARGIN = 0.24
"""Logarithm by which both ends move outwards in Memory Mode: NPB's MG, the program with the
greatest need, needs 0.23 for its class E, which no state of pages that the interval spans explains
(`reasons.toml`), and 0.083 for the others."""

SHARE, MARGIN = "share of the width", "margin in Memory Mode"
"""Names, in the table, of the two figures that set widths."""

MIN_DISTANCE = 1e-9
"""Minimum distance of an end from the value."""


def in_memory_mode(case: MemoryCase) -> bool:
    """Return whether near memory caches the far one."""
    return case.memory_kind == "memory mode"


def interval_of(case: MemoryCase, slowdown: Estimate) -> tuple[float, float]:
    """Return low and high of a case's interval; `slowdown` has the model's interval."""
    if in_memory_mode(case):
        return slowdown.low * exp(-MEMORY_MODE_MARGIN), slowdown.high * exp(MEMORY_MODE_MARGIN)
    low, high = (
        slowdown.value * (end / slowdown.value) ** WIDTH_SHARE
        for end in (slowdown.low, slowdown.high)
    )
    return low, high


def needed(each: CasePrediction, case: MemoryCase) -> float | None:
    """Return the smallest share, or in Memory Mode margin, whose interval contains the measurement.

    Return None for a case that is not judged.
    """
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


@dataclass(frozen=True)
class _Group:
    """Cases of one source, or in Memory Mode of one program."""

    kind: str
    name: str
    needs: list[float]
    """Needs of its cases."""
    given: float | None
    """Largest need of the other groups of its kind; None: there are none."""

    @property
    def held(self) -> float | None:
        """Return the coverage of its cases with the need of the other groups."""
        if self.given is None:
            return None
        return float(np.mean([need <= self.given for need in self.needs]))


def _groups(predictions: Sequence[CasePrediction], cases: Sequence[MemoryCase]) -> list[_Group]:
    needs: dict[tuple[str, str], list[float]] = {}
    for each, case in zip(predictions, cases, strict=True):
        value = needed(each, case)
        if value is not None:
            is_memory_mode = in_memory_mode(case)
            key = (MARGIN, case.program) if is_memory_mode else (SHARE, case.source)
            needs.setdefault(key, []).append(value)
    groups = []
    for (kind, name), values in needs.items():
        others = [
            _quantile(other_needs)
            for (other_kind, other), other_needs in needs.items()
            if other_kind == kind and other != name
        ]
        groups.append(_Group(kind, name, values, max(others, default=None)))
    return groups


def margins_table(predictions: Sequence[CasePrediction], cases: Sequence[MemoryCase]) -> TextTable:
    """Return each group's need, the largest need of other groups, and the coverage with that."""
    used = {SHARE: WIDTH_SHARE, MARGIN: MEMORY_MODE_MARGIN}
    rows = [
        [
            group.name,
            group.kind,
            str(len(group.needs)),
            f"{_quantile(group.needs):.2f}",
            "-" if group.given is None else f"{group.given:.2f}",
            "-" if group.held is None else f"{group.held:.0%}",
            f"{used[group.kind]:.2f}",
        ]
        for group in _groups(predictions, cases)
    ]
    return TextTable(
        title="widths of intervals: the width that 90 % of a group's cases need, the largest that "
        "another group needs, and the share of the group's cases inside intervals of that width",
        columns=["group", "figure", "cases", "needed", "largest other", "inside then", "used"],
        rows=rows,
    )


def left_out_sentence(
    predictions: Sequence[CasePrediction], cases: Sequence[MemoryCase]
) -> str | None:
    """State the coverage if each group's widths come from the other groups; None: unknown."""
    held = [
        (group.held, len(group.needs))
        for group in _groups(predictions, cases)
        if group.held is not None
    ]
    if not held:
        return None
    shares, counts = zip(*held, strict=True)
    return (
        "with widths from the other sources alone (in Memory Mode: from the other programs), "
        f"{np.mean(shares):.0%} of a source's cases are inside the intervals (mean of {len(held)} "
        f"sources), and {np.average(shares, weights=counts):.0%} of all {sum(counts)} cases"
    )


def _quantile(values: Sequence[float]) -> float:
    return float(np.quantile(values, LEVEL, method="higher"))

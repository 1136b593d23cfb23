"""Judge which values differ: p values, their correction, the verdict.

A difference counts if it passes both: its p value, corrected for all that is compared, is below
5 %, and its 95 % interval excludes no change. Without any difference, less than 5 % of comparisons
then report one, however many values they have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from scipy import stats

from nearfar.compare.compared_value import ComparedValue
from nearfar.compare.difference import ALPHA, MIN_REPETITIONS, ValueDifference, difference
from nearfar.compare.kind import Pair
from nearfar.documents.comparison import Change, Verdict

BLIND = "half the changes of"
"""Start of the note of a value whose changes of the limit are likely to be missed."""

Correction = Literal["holm", "benjamini-hochberg", "none"]


def corrected(values: Sequence[float], correction: Correction) -> list[float]:
    """Return p values corrected for their number."""
    if not values or correction == "none":
        return list(values)
    if correction == "benjamini-hochberg":
        return [float(value) for value in stats.false_discovery_control(values)]
    p_values = [0.0] * len(values)
    largest = 0.0
    for rank, i in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        # Holm: the k-th smallest is one of those that may still be chance.
        largest = max(largest, min(1.0, (len(values) - rank) * values[i]))
        p_values[i] = largest
    return p_values


def judge(
    pairs: Sequence[Pair], *, limit: float | None, correction: Correction, same_machine: bool
) -> list[Change]:
    """Return every pair's change. Families share the 5 %, so that it holds for all together."""
    by_family: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_family.setdefault(_either(pair).family, []).append(pair)
    changes: list[Change] = []
    for group in by_family.values():
        share = together = 1
        if correction != "none":
            share = len(by_family)
            together = share * sum(_is_judged(pair, same_machine=same_machine) for pair in group)
        differences = [_difference(pair, together, same_machine=same_machine) for pair in group]
        p_values = {i: d.p for i, d in enumerate(differences) if d is not None and d.p is not None}
        fixed = corrected(list(p_values.values()), correction)
        by_index = {i: min(1.0, p * share) for i, p in zip(p_values, fixed, strict=True)}
        of_family = [
            _change(pair, judged, by_index.get(i), limit)
            for i, (pair, judged) in enumerate(zip(group, differences, strict=True))
        ]
        changes += sorted(of_family, key=_interest)
    return changes


def _either(pair: Pair) -> ComparedValue:
    value = pair[0] or pair[1]
    assert value is not None
    return value


def _is_judged(pair: Pair, *, same_machine: bool) -> bool:
    """Say whether the two will have a p value, for which the correction counts them."""
    a, b = pair
    if a is None or b is None or (a.timed and not same_machine):
        return False
    if a.samples and b.samples:
        return min(len(a.samples), len(b.samples)) >= MIN_REPETITIONS
    return a.sigma is not None and b.sigma is not None


def _difference(pair: Pair, together: int, *, same_machine: bool) -> ValueDifference | None:
    a, b = pair
    if a is None or b is None:
        return None
    if a.timed and not same_machine:
        change = (b.value - a.value) / (a.value or math.nan)
        return ValueDifference(change, None, None, None, "times of different machines")
    return difference(a, b, together)


def _change(
    pair: Pair, judged: ValueDifference | None, p_corrected: float | None, limit: float | None
) -> Change:
    a, b = pair
    value = _either(pair)
    if a is None or b is None or judged is None:
        return Change(
            family=value.family,
            name=value.name,
            unit=value.unit,
            a=None if a is None else a.value,
            b=None if b is None else b.value,
            verdict="only B" if a is None else "only A",
            note=value.note,
        )
    verdict = _verdict(a, b, judged, p_corrected)
    part = a.total is not None
    return Change(
        family=value.family,
        name=value.name,
        unit=value.unit,
        a=a.value,
        b=b.value,
        change=judged.change,
        part=part,
        own_change=(b.value - a.value) / abs(a.value) if part and a.value else None,
        low=judged.low,
        high=judged.high,
        p=judged.p,
        p_corrected=p_corrected,
        verdict=verdict,
        over_limit=verdict == "worse" and limit is not None and _loss(a, b, judged) > limit,
        note=judged.note or _blind_note(judged, verdict, limit) or value.note,
    )


def _blind_note(judged: ValueDifference, verdict: Verdict, limit: float | None) -> str:
    """Return a note where a change of the limit is likely to be missed."""
    if verdict != "same" or limit is None:
        return ""
    if judged.undetectable is None or judged.undetectable <= limit:
        return ""
    return f"{BLIND} {100 * judged.undetectable:.2g} % would be missed with so few repetitions"


def _verdict(
    a: ComparedValue, b: ComparedValue, judged: ValueDifference, p_corrected: float | None
) -> Verdict:
    if p_corrected is None:
        return "not judged"
    inside = judged.low is not None and judged.high is not None and judged.low <= 0.0 <= judged.high
    if p_corrected >= ALPHA or inside or a.value == b.value:
        return "same"
    if a.worse == "neither":
        return "changed"
    return "worse" if (b.value > a.value) == (a.worse == "more") else "better"


def _loss(a: ComparedValue, b: ComparedValue, judged: ValueDifference) -> float:
    """Return the relative loss of B, which --fail-over limits."""
    if a.worse == "less":
        return a.value / b.value - 1.0 if b.value > 0 else math.inf
    return math.inf if judged.change is None else judged.change


def _interest(change: Change) -> tuple[int, float]:
    order = {"worse": 0, "better": 1, "changed": 1, "only B": 2, "only A": 2}
    return order.get(change.verdict, 3), -abs(change.change or 0.0)

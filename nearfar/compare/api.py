"""Compare the documents at two paths: p values, their correction, and the verdict.

A difference counts if its p value, corrected for the number of compared values, is below 5 %, and
if its 95 % interval excludes zero. Then less than 5 % of comparisons of equal things report a
difference, whatever the number of values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from scipy import stats

from nearfar.base.errors import NearfarError
from nearfar.base.files import read_bytes
from nearfar.compare.difference import ALPHA, MIN_REPETITIONS, ValueDifference, difference
from nearfar.compare.kind import KINDS, ComparableKind, ComparedValue, Pair, SideNames, documents_in
from nearfar.documents import producer
from nearfar.documents.comparison import Change, Comparison, Side, Verdict
from nearfar.documents.gate import decoded, visible


def compare(
    a: Path,
    b: Path,
    *,
    limit: float | None = None,
    correction: Correction = "holm",
    edited: bool = False,
    across_machines: bool = False,
) -> Comparison:
    """Compare the documents at two paths; see `nearfar compare --help` for the options."""
    if limit is not None and not limit >= 0.0:
        raise NearfarError(f"the limit must be 0 % or more, not {100 * limit:.3g} %")
    kind = kind_for(a, b)
    documents = kind.load(a), kind.load(b)
    sides = _side(a, documents[0]), _side(b, documents[1])
    names = SideNames(str(a), str(b))
    paired = kind.paired(*documents, names, edited=edited)
    same_machine = (sides[0].host, sides[0].cpu_model) == (sides[1].host, sides[1].cpu_model)
    timed = any(value.timed for pair in paired.pairs for value in pair if value is not None)
    warnings = list(paired.warnings)
    if timed and not same_machine:
        warnings.append(
            f"{a} is of {sides[0].host} ({sides[0].cpu_model}), {b} of {sides[1].host} "
            f"({sides[1].cpu_model}): "
            + (
                "times are judged because of --across-machines"
                if across_machines
                else "times are shown and not judged; --across-machines judges them"
            )
        )
    attributions, unknown = kind.attributions(*documents, names)
    warnings += unknown
    changes = judge(
        paired.pairs,
        limit=limit,
        correction=correction,
        same_machine=same_machine or across_machines,
    )
    if limit is not None and all(change.p is None for change in changes):
        warnings.append("nothing could be judged, so no value can exceed the limit")
    blind = [change for change in changes if change.note.startswith(BLIND)]
    if limit is not None and blind:
        warnings.append(
            f"{len(blind)} of {len(changes)} values vary so much over so few repetitions that a "
            f"change of {100 * limit:.3g} % is missed more often than found: repeat more often "
            f"({blind[0].family} of {blind[0].name}: {blind[0].note})"
        )
    return Comparison(
        producer=producer(),
        a=sides[0],
        b=sides[1],
        limit=limit,
        correction=correction,
        families=list(dict.fromkeys(change.family for change in changes)),
        changes=changes,
        failed=sum(change.over_limit for change in changes),
        attributions=attributions,
        warnings=warnings,
    )


def _side(path: Path, documents: list[Any]) -> Side:
    first = documents[0]
    made = first.producer
    return Side(
        file=str(path),
        kind=getattr(first, "kind", "") or "benchmarks",
        command=made.command,
        host=made.host,
        cpu_model=made.cpu_model,
        time_utc=made.time_utc,
        nearfar_version=made.nearfar_version,
        documents=len(documents),
    )


BENCHMARKS = "benchmarks"
"""Kind of the files of `make benchmarks`, which have no key `kind`."""


def kind_of(path: Path) -> str:
    """Return the kind of the document at `path`, or of those in a folder."""
    if path.is_dir():
        if (path / "sweep.json").is_file():
            return "sweep"
        kinds = {kind_of(file) for file in documents_in(path)}
        if len(kinds) != 1:
            present = ", ".join(sorted(kinds)) or "no document"
            raise NearfarError(f"{path} must contain documents of one kind: it contains {present}")
        return kinds.pop()
    head = decoded(visible(read_bytes(path, "the document")), str(path), object)
    if isinstance(head, dict) and isinstance(head.get("kind"), str):
        return str(head["kind"])
    if isinstance(head, dict) and {"producer", "rows"} <= set(head):
        return BENCHMARKS
    raise NearfarError(f"{path} is not a nearfar document: it has no key 'kind'")


def kind_for(a: Path, b: Path) -> ComparableKind[Any]:
    """Return the kind that both documents have; refuse documents of different kinds."""
    kinds = (kind_of(a), kind_of(b))
    if kinds[0] != kinds[1]:
        raise NearfarError(
            f"{a} is a {kinds[0]} and {b} a {kinds[1]}: compare two documents of one kind"
        )
    if kinds[0] not in KINDS.names():
        raise NearfarError(
            f"documents of kind {kinds[0]!r} cannot be compared; those that can: "
            f"{', '.join(KINDS.names())}"
        )
    return KINDS.get(kinds[0])()


BLIND = "half the changes of"
"""Start of the note of a value whose changes of the limit are likely to be missed."""

Correction = Literal["holm", "benjamini-hochberg", "none"]


def corrected(values: Sequence[float], correction: Correction) -> list[float]:
    """Return the p values `values`, corrected for the number of comparisons."""
    if not values or correction == "none":
        return list(values)
    if correction == "benjamini-hochberg":
        return [float(value) for value in stats.false_discovery_control(values)]
    p_values = [0.0] * len(values)
    largest = 0.0
    for rank, i in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        # Holm: the k-th smallest of n p values (k from 0) is multiplied by n - k.
        largest = max(largest, min(1.0, (len(values) - rank) * values[i]))
        p_values[i] = largest
    return p_values


def judge(
    pairs: Sequence[Pair], *, limit: float | None, correction: Correction, same_machine: bool
) -> list[Change]:
    """Return every pair's change; n families get 5 % / n each, so that all together get 5 %."""
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
    """Return whether the pair gets a p value, which counts in the correction."""
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
    """Return a note if a change as large as the limit would probably be missed."""
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
    """Return by what share B is worse than A; --fail-over limits this share."""
    if a.worse == "less":
        return a.value / b.value - 1.0 if b.value > 0 else math.inf
    return math.inf if judged.change is None else judged.change


def _interest(change: Change) -> tuple[int, float]:
    order = {"worse": 0, "better": 1, "changed": 1, "only B": 2, "only A": 2}
    return order.get(change.verdict, 3), -abs(change.change or 0.0)

"""Compare from Python: two paths in, a `Comparison` out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nearfar.base.errors import NearfarError
from nearfar.compare.judge import BLIND, Correction, judge
from nearfar.compare.kind import Names
from nearfar.compare.read import kind_for
from nearfar.documents import producer
from nearfar.documents.comparison import Comparison, Side


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
    names = Names(str(a), str(b))
    paired = kind.paired(*documents, names, edited=edited)
    same_machine = (sides[0].host, sides[0].cpu_model) == (sides[1].host, sides[1].cpu_model)
    timed = any(figure.timed for pair in paired.pairs for figure in pair if figure is not None)
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

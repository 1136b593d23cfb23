"""Scores of predicted slowdowns against measured ones, with the metrics usual in this field.

They are Pearson and rank correlation, shares of programs within 5 and 10 points of slowdown, mean
error, bias, and coverage of the intervals; overall, by source and by kind of memory. They are shown
next to three simple predictors: no slowdown at all, the ratio of idle latencies, and a stall share
from the same program on remote memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from nearfar.base.errors import NearfarError
from nearfar.documents.study import ComparisonTable, StudyResult, TextTable
from nearfar_studies.compare import row, table
from nearfar_studies.hardware.cases import CasePrediction, MemoryCase, count_of_cases

POINTS = (5.0, 10.0)
"""Distances in points of slowdown: from 1.05 to 1.10 are 5 points."""

MIN_ROWS = 3
"""Minimum number of rows for a correlation."""

LatencyRatio = Callable[[MemoryCase], float | None]
"""Function that returns a case's far idle latency divided by its near one; None: unknown."""


@dataclass(frozen=True)
class Score:
    """Score of one predictor over some cases; NaN if a metric cannot be computed."""

    cases: int
    pearson: float
    rank: float
    within: tuple[float, ...]
    """Shares of cases within each of `POINTS`."""
    mean: float
    """Mean absolute relative error of time."""
    bias: float
    coverage: float


def score(
    measured: Sequence[float], predicted: Sequence[float], covered: Sequence[bool] = ()
) -> Score:
    """Return the score of predicted slowdowns, shape (cases,)."""
    truth, ours = np.asarray(measured, float), np.asarray(predicted, float)
    points = np.abs(ours - truth) * 100.0
    varied = len(truth) >= MIN_ROWS and np.ptp(truth) > 0.0 and np.ptp(ours) > 0.0
    errors = ours / truth - 1.0
    return Score(
        len(truth),
        float(stats.pearsonr(truth, ours).statistic) if varied else math.nan,
        float(stats.spearmanr(truth, ours).statistic) if varied else math.nan,
        tuple(float(np.mean(points <= most)) for most in POINTS),
        float(np.mean(np.abs(errors))),
        float(np.mean(errors)),
        float(np.mean(covered)) if len(covered) else math.nan,
    )


def scored(
    name: str,
    predictions: Sequence[CasePrediction],
    truths: Sequence[MemoryCase],
    latency_ratio: LatencyRatio = lambda case: None,
) -> StudyResult:
    """Return the scores of `predictions` as a study.

    Raises NearfarError if no prediction has a measurement.
    """
    by_id = {case.id: case for case in truths if case.slowdown}
    unknown = [each.id for each in predictions if each.id not in by_id]
    pairs = [(each, by_id[each.id]) for each in predictions if each.id in by_id]
    predicted = [(each, case) for each, case in pairs if each.slowdown is not None]
    judged = [(each, case) for each, case in predicted if not case.suspect]
    if not judged:
        raise NearfarError(
            "no prediction has a measured slowdown of the same id: compare the files' ids"
        )
    rivals = _rivals([case for _, case in judged], latency_ratio)
    compared = _compared(predicted, rivals)
    groups = {"all": judged}
    for each, case in judged:
        groups.setdefault(f"source: {case.source.split('@')[0] or 'not stated'}", []).append(
            (each, case)
        )
        groups.setdefault(f"memory: {case.memory_kind}", []).append((each, case))
    commits = sorted({each.commit for each, _ in judged})
    return StudyResult(
        name=name,
        title="predicted slowdowns against measured ones",
        source="the file of measured slowdowns",
        inputs=f"predictions of commit {', '.join(commits)}",
        tables=[compared],
        texts=[_table(groups, rivals), *_left_out(pairs, unknown, set(by_id))],
        verdict=_verdict(judged, rivals),
    )


Pairs = Sequence[tuple[CasePrediction, MemoryCase]]
Rivals = Mapping[str, Mapping[str, float]]
"""Slowdown by the rival's name and the case's ID."""


def _rivals(cases: Sequence[MemoryCase], latency_ratio: LatencyRatio) -> Rivals:
    ratios = {case.id: ratio for case in cases if (ratio := latency_ratio(case)) is not None}
    rivals: dict[str, dict[str, float]] = {"null": {case.id: 1.0 for case in cases}}
    if ratios:
        rivals["latency ratio"] = ratios
        stalls = _stall_shares(cases, ratios)
        if stalls:
            rivals["stall share"] = stalls
    return rivals


def _stall_shares(cases: Sequence[MemoryCase], ratios: Mapping[str, float]) -> dict[str, float]:
    """Return slowdowns that grow with latency as the program's slowdown on remote DRAM does."""
    loss_per_latency: dict[tuple[str, ...], float] = {}
    for case in cases:
        if case.memory_kind == "remote dram" and ratios.get(case.id, 0.0) > 1.0 and case.slowdown:
            loss_per_latency[_program(case)] = (case.slowdown - 1.0) / (ratios[case.id] - 1.0)
    return {
        case.id: 1.0 + loss_per_latency[_program(case)] * (ratios[case.id] - 1.0)
        for case in cases
        if case.memory_kind != "remote dram"
        and case.id in ratios
        and _program(case) in loss_per_latency
    }


def _program(case: MemoryCase) -> tuple[str, ...]:
    return (case.program, case.input, case.threads, case.machine, case.placement)


def _compared(predicted: Pairs, rivals: Rivals) -> ComparisonTable:
    return table(
        "slowdown of every case",
        "the file of measured slowdowns",
        "slowdown",
        [
            row(
                case.id,
                case.slowdown,
                each.slowdown,
                interval=None if each.low is None or each.high is None else (each.low, each.high),
                rivals={name: by_id[case.id] for name, by_id in rivals.items() if case.id in by_id},
                judged=not case.suspect,
                note=case.suspect,
            )
            for each, case in predicted
        ],
    )


def _score_of(pairs: Pairs) -> Score:
    return score(
        [case.slowdown or 1.0 for _, case in pairs],
        [each.slowdown or 1.0 for each, _ in pairs],
        [
            each.low <= (case.slowdown or 1.0) <= each.high
            for each, case in pairs
            if each.low is not None and each.high is not None
        ],
    )


def _rival_score(cases: Sequence[MemoryCase], rival: Mapping[str, float]) -> Score | None:
    with_rival = [case for case in cases if case.id in rival]
    if not with_rival:
        return None
    return score(
        [case.slowdown or 1.0 for case in with_rival], [rival[case.id] for case in with_rival]
    )


def _table(groups: Mapping[str, Pairs], rivals: Rivals) -> TextTable:
    rows = []
    for name, pairs in groups.items():
        rows.append([name, "nearfar", *_cells(_score_of(pairs))])
        for rival, by_id in rivals.items():
            result = _rival_score([case for _, case in pairs], by_id)
            if result is not None:
                rows.append(["", rival, *_cells(result)])
    return TextTable(
        title="scores",
        columns=[
            "cases of",
            "predictor",
            "cases",
            "Pearson",
            "rank",
            *(f"within {most:g} points" for most in POINTS),
            "mean error",
            "bias",
            "covered",
        ],
        rows=rows,
    )


def _cells(result: Score) -> list[str]:
    return [
        str(result.cases),
        *(_number(value, ".2f") for value in (result.pearson, result.rank)),
        *(f"{share:.0%}" for share in result.within),
        f"{result.mean:.1%}",
        f"{result.bias:+.1%}",
        _number(result.coverage, ".0%"),
    ]


def _number(value: float, form: str) -> str:
    """Return a number in a format; a dash where it cannot be computed."""
    return "-" if math.isnan(value) else f"{value:{form}}"


def _left_out(pairs: Pairs, unknown: Sequence[str], known: set[str]) -> list[TextTable]:
    rows = [[each.id, each.assumed] for each, _ in pairs if each.slowdown is None]
    rows += [[id, "no measured slowdown has this id"] for id in unknown]
    rows += [
        [id, "no prediction has this id"] for id in sorted(known - {each.id for each, _ in pairs})
    ]
    return [TextTable(title="not scored", columns=["id", "why"], rows=rows)] if rows else []


def _verdict(judged: Pairs, rivals: Rivals) -> list[str]:
    ours = _score_of(judged)
    sentences = [
        f"{count_of_cases(ours.cases)}: Pearson {_number(ours.pearson, '.2f')}, rank "
        f"{_number(ours.rank, '.2f')}; "
        + ", ".join(
            f"{share:.0%} within {most:g} points"
            for share, most in zip(ours.within, POINTS, strict=True)
        )
        + f"; mean error {ours.mean:.1%} of time, bias {ours.bias:+.1%}; "
        f"{_number(ours.coverage, '.0%')} inside the intervals"
    ]
    for name, by_id in rivals.items():
        shared = [(each, case) for each, case in judged if case.id in by_id]
        rival, ours_on_shared = _rival_score([case for _, case in shared], by_id), _score_of(shared)
        if rival is not None:
            word = "smaller" if ours_on_shared.mean < rival.mean else "not smaller"
            sentences.append(
                f"on {count_of_cases(rival.cases)}, the mean error of nearfar is {word} than that "
                f"of {name}: {ours_on_shared.mean:.1%} against {rival.mean:.1%}"
            )
    return sentences

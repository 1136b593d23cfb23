"""Programs that others measured on real far memory: profiled here, predicted for their machines."""

from __future__ import annotations

import re
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from nearfar.documents.study import StudyResult, TextTable
from nearfar_studies.compare import column, facts
from nearfar_studies.hardware.cases import CasePrediction, MemoryCase
from nearfar_studies.hardware.checks import FigureCheck
from nearfar_studies.hardware.margins import left_out_sentence, margins_table
from nearfar_studies.hardware.predictor import CasePredictor, latency_ratio
from nearfar_studies.hardware.score import POINTS, score, scored
from nearfar_studies.hardware.stand_ins import stand_ins
from nearfar_studies.study import STUDIES, Study, StudyInputs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HARDWARE = Path(__file__).parents[1] / "hardware"
MEASURED, REASONS = HARDWARE / "measured.toml", HARDWARE / "reasons.toml"

EXPLAINED_FROM = 0.1
"""Relative error above which a case needs an explanation."""

KNOWN_THERE = "STREAM 5.10"
"""Prefix of the names of programs whose far runs gave library devices their bandwidths. Predictions
of these programs test how a device's figures are used, not whether they hold for other programs."""


@STUDIES.register("applications")
class Applications(Study):
    """Slowdowns on CXL, Optane, Memory Mode and another socket."""

    title = "programs that others measured on real far memory"
    source = "five published sets of measurements (nearfar_studies/hardware/measured.toml)"

    def run(self, given: StudyInputs) -> StudyResult:
        """Profile every stand-in program here, and predict it for the machines of the sources."""
        cases = measured_cases()
        with tempfile.TemporaryDirectory(prefix="nearfar-hardware-") as name:
            predictor = CasePredictor(given.profiles or Path(name))
            predictions = [predictor.predict(case) for case in cases]
        result = with_known_there(scored(self.name, predictions, cases, latency_ratio), cases)
        assumed = dict.fromkeys(each.assumed for each in predictions if each.assumed)
        left_out = left_out_sentence(predictions, cases)
        return msgspec.structs.replace(
            result,
            title=self.title,
            source=self.source,
            inputs="stand-in programs, profiled here on smaller data and caches; the source's near "
            f"time; the library's devices, two of which have the far bandwidths of {KNOWN_THERE}; "
            "no other far time",
            verdict=[*result.verdict, *([left_out] if left_out else [])],
            texts=[
                *result.texts,
                checks_table(predictor.checks),
                reasons_table(predictions, cases),
                margins_table(predictions, cases),
                facts(
                    "all these cases were known while the stand-in programs were written",
                    *(f"{program.title}: {program.source}" for program in stand_ins()),
                    *(f"assumed: {text}" for text in assumed),
                ),
            ],
        )

    def draw(self, result: StudyResult, figure: Figure) -> str:
        """Draw predicted over measured slowdown."""
        axes = figure.add_subplot()
        for compared in result.tables:
            axes.loglog(column(compared, "published"), column(compared), "o", markersize=4)
        axes.axline((1.0, 1.0), (2.0, 2.0), color="grey", linewidth=0.8)
        axes.set_xlabel("measured slowdown")
        axes.set_ylabel("predicted slowdown")
        axes.grid(visible=True, which="both", alpha=0.25)
        return "Predicted over measured slowdown; on the line is right. " + self.source


def with_known_there(result: StudyResult, cases: list[MemoryCase]) -> StudyResult:
    """Add notes on cases whose far bandwidths the devices contain, and the score of the others."""
    known = {case.id for case in cases if case.program.startswith(KNOWN_THERE)}
    tables = [
        msgspec.structs.replace(
            compared,
            rows=[
                msgspec.structs.replace(row, note=f"far bandwidth from runs of {KNOWN_THERE}")
                if row.what in known and row.judged
                else row
                for row in compared.rows
            ],
        )
        for compared in result.tables
    ]
    rest = [
        (row.published, row.ours)
        for compared in tables
        for row in compared.rows
        if row.judged and not row.note and row.published and row.ours
    ]
    if not rest:
        return msgspec.structs.replace(result, tables=tables)
    others = score(*zip(*rest, strict=True))
    sentence = (
        f"without {KNOWN_THERE}, whose far bandwidths are in the library's devices, "
        f"{others.cases} cases: mean error {others.mean:.1%} of time, {others.within[-1]:.0%} "
        f"within {POINTS[-1]:g} points"
    )
    return msgspec.structs.replace(result, tables=tables, verdict=[*result.verdict, sentence])


def measured_cases() -> list[MemoryCase]:
    """Return the cases of `measured.toml`; `source` is the source's title."""
    document = tomllib.loads(MEASURED.read_text())
    return [
        MemoryCase(**case, source=source["title"])
        for source in document["sources"]
        for case in source["cases"]
    ]


def checks_table(checks: Mapping[tuple[str, str], Sequence[FigureCheck]]) -> TextTable:
    """Return published properties of programs next to those of the stand-in programs."""
    rows = [
        [
            f"{program}, {text}" if text else program,
            check.figure.what,
            f"{check.figure.value:.4g}",
            f"{check.ours:.4g}",
            f"{check.difference:+.0%}",
            f"yes, within {check.figure.tolerance:.0%}" if check.agrees else "NO",
            check.figure.source,
        ]
        for (program, text), program_checks in checks.items()
        for check in program_checks
    ]
    return TextTable(
        title="stand-in programs compared with figures of their sources",
        columns=["program", "figure", "source", "stand-in", "difference", "agrees", "origin"],
        rows=rows,
    )


def reasons_table(predictions: Sequence[CasePrediction], cases: Sequence[MemoryCase]) -> TextTable:
    """Return the reasons for errors of `EXPLAINED_FROM` or more, one row for each reason."""
    reasons = tomllib.loads(REASONS.read_text())["reasons"]
    groups: dict[str, list[float]] = {}
    for each, case in zip(predictions, cases, strict=True):
        if each.slowdown is None or case.slowdown is None or case.suspect:
            continue
        error = each.slowdown / case.slowdown - 1.0
        if abs(error) >= EXPLAINED_FROM:
            why = [entry["why"] for entry in reasons if re.search(entry["match"], case.id)]
            groups.setdefault(why[0] if why else f"unknown: {case.id}", []).append(error)
    return TextTable(
        title=f"errors of {EXPLAINED_FROM:.0%} or more, and their causes",
        columns=["cases", "mean error", "bias", "cause"],
        rows=[
            [
                str(len(errors)),
                f"{np.mean(np.abs(errors)):.1%}",
                f"{np.mean(errors):+.1%}",
                why,
            ]
            for why, errors in sorted(groups.items(), key=lambda item: -len(item[1]))
        ],
    )

"""Programs measured on real memories, predicted from their counters on one of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING

from nearfar.documents.study import ComparisonTable, StudyResult, TextTable
from nearfar_studies import cycle_intervals, profet
from nearfar_studies.compare import column, facts, mean_max, percent, row, table
from nearfar_studies.cycle_level import CyclePrediction
from nearfar_studies.study import STUDIES, Study, StudyInputs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RIVALS = ("null", "latency-ratio", "traffic")
PUBLISHED_MEAN, PUBLISHED_MAX = 0.0126, 0.097
"""Errors of PROFET's own model on these programs, fast to slow."""


@STUDIES.register("profet-counters")
class ProfetCounters(Study):
    """Seventeen programs on four DDR3 speeds, and on DDR4 and MCDRAM, both ways."""

    title = "counters of programs on one memory, their slowdown on another"
    source = "M. Radulovic et al., PROFET, SIGMETRICS 2019, and its published traces and curves"

    def run(self, given: StudyInputs) -> StudyResult:
        """Predict every program from each memory to each other."""
        del given
        figures = profet.load()
        tables: list[ComparisonTable] = []
        by_direction: dict[str, list[CyclePrediction]] = {name: [] for name in profet.DIRECTIONS}
        by_platform: dict[str, list[CyclePrediction]] = {}
        for platform in profet.PLATFORMS:
            for direction, cases in profet.cases(figures, platform).items():
                tables.append(_compared(f"{platform}, {direction}", cases))
                by_direction[direction] += cases
                by_platform.setdefault(platform, []).extend(cases)
        both = [_compared(direction, cases) for direction, cases in by_direction.items()]
        groups = {**by_platform, **by_direction, "all": list(chain(*by_direction.values()))}
        return StudyResult(
            name=self.name,
            title=self.title,
            source=self.source,
            inputs="each program's cycles, last-level misses and bytes by interval on one memory, "
            "and both memories' loaded-latency curves in the device library",
            tables=tables,
            texts=[
                _errors([*tables, *both]),
                _intervals(groups),
                facts(
                    "all these programs were known while the model was made; it has four "
                    "constants: an exponent near the bandwidth limit, and three of the interval",
                    "the other half of PROFET's programs was not used",
                    "the error of PROFET's own model on these programs, fast to slow, is "
                    f"{percent(PUBLISHED_MEAN)} on average and {percent(PUBLISHED_MAX)} at most",
                    "the published latencies exclude page walks, which real programs have; the "
                    "ends of curves that PROFET added by hand are not used",
                ),
            ],
            verdict=[_verdict(compared) for compared in both],
        )

    def draw(self, result: StudyResult, figure: Figure) -> str:
        """Draw predicted over measured slowdown."""
        axes = figure.add_subplot()
        for compared in result.tables:
            measured = column(compared, "published")
            axes.plot(measured, column(compared), "o", label=compared.title, markersize=4)
        axes.axline((1.0, 1.0), slope=1.0, color="grey", linewidth=0.8)
        axes.set_xlabel("measured slowdown")
        axes.set_ylabel("predicted slowdown")
        axes.grid(visible=True, alpha=0.25)
        axes.legend(fontsize=7)
        return "Predicted over measured slowdown; on the line is right. " + self.source


def _compared(title: str, cases: list[CyclePrediction]) -> ComparisonTable:
    return table(
        title,
        "its measured_results.py",
        "slowdown",
        [
            row(
                f"{case.kernel}, {case.level}",
                case.truth,
                case.predicted[profet.MODEL],
                interval=(case.interval.low, case.interval.high),
                rivals={name: case.predicted[name] for name in RIVALS},
            )
            for case in cases
        ],
    )


def _errors(tables: Iterable[ComparisonTable]) -> TextTable:
    names = ("ours", *RIVALS)
    rows = [
        [
            compared.title,
            percent(compared.errors["ours"].bias, signed=True),
            *(
                f"{errors.mean * 100:.2f} / {errors.max * 100:.1f}"
                for errors in (compared.errors[name] for name in names)
            ),
        ]
        for compared in tables
    ]
    return TextTable(
        title="mean / max error, %", columns=["platform, direction", "bias", *names], rows=rows
    )


def _intervals(groups: dict[str, list[CyclePrediction]]) -> TextTable:
    """Return coverage and width of intervals, plain and calibrated on the other programs."""
    rows = []
    for name, cases in groups.items():
        plain, calibrated = cycle_intervals.as_they_are(cases), cycle_intervals.calibrated(cases)
        cells = [f"{plain.coverage:.0%}", f"{plain.width:.3f}", f"{plain.score:.3f}"]
        if calibrated is not None:
            cells += [
                f"{calibrated.coverage:.0%}",
                f"{calibrated.width:.3f}",
                f"{math.exp(calibrated.margin) - 1.0:+.1%}",
            ]
        rows.append([name, *cells, *[""] * (6 - len(cells))])
    return TextTable(
        title="90 % intervals, as predicted and calibrated on the other programs",
        columns=["cases", "coverage", "width", "score", "calibrated", "width", "ends moved"],
        rows=rows,
    )


def _verdict(compared: ComparisonTable) -> str:
    errors = compared.errors
    inside = sum(
        (each.low or 0.0) <= (each.published or 0.0) <= (each.high or 0.0) for each in compared.rows
    )
    return (
        f"{compared.title}: error {mean_max(errors['ours'])} in {errors['ours'].rows} predictions, "
        f"{inside / len(compared.rows):.0%} inside the 90 % intervals; predicting no slowdown, "
        f"{mean_max(errors['null'])}; predicting the ratio of latencies, "
        f"{mean_max(errors['latency-ratio'])}"
    )

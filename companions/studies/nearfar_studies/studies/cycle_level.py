"""Slowdowns that no ordinary machine can make, against an independent cycle-level core."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

from nearfar.documents.study import ComparisonTable, StudyResult, TextTable
from nearfar.predict.model import DEFAULT_MODEL, NAIVE_MODELS
from nearfar_studies import cycle_intervals, cycle_level
from nearfar_studies.compare import column, facts, mean_max, row, table
from nearfar_studies.cycle_profiles import profiles
from nearfar_studies.study import STUDIES, Study, StudyInputs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONFIGS = {"nopf": "no prefetchers", "pf": "stride and SPP prefetchers"}


@STUDIES.register("cycle-level")
class CycleLevel(Study):
    """Ten kernels at 1.5 to 4 times the latency, and at a quarter of the bandwidth."""

    title = "ten kernels on a cycle-level core with slower memory"
    source = "ChampSim runs made for this project (nearfar_studies/reference)"

    def run(self, given: StudyInputs) -> StudyResult:
        """Predict every kernel at every level from its run at base level."""
        reference = cycle_level.load()
        names = cycle_level.kernels(reference)
        profiled = profiles(cycle_level.REFERENCE.with_name("kernels.c"), tuple(names))
        fitted = cycle_level.fitted(reference)
        tables, halves, every = [], [], []
        models: dict[str, dict[str, list[str]]] = {}
        for config, words in CONFIGS.items():
            for level in cycle_level.LEVELS:
                cases = cycle_level.cases(reference, profiled, config, level)
                tables.append(_level_table(f"{words}, {_level(level)}", cases, fitted))
                every += cases
                halves.append([words, _level(level), *_halves(cases, fitted), _coverage(cases)])
                for name in cases[0].predicted:
                    models.setdefault(words, {}).setdefault(name, []).append(_mean_max(cases, name))
        verdict = [
            f"{t.title}: {mean_max(t.errors['ours'])}; no slowdown at all is "
            f"{mean_max(t.errors['null'])}"
            for t in tables
        ]
        verdict += _of_intervals(every)
        return StudyResult(
            name=self.name,
            title=self.title,
            source=self.source,
            inputs="nearfar's profile of each kernel's region, scaled to the misses of the "
            "simulated window; its cycles at base level as near time; the device curves of base "
            "and of the slower level",
            tables=tables,
            texts=[
                TextTable(
                    title="mean / max error by half",
                    columns=["core", "level", "fitted", "held out", "covered, mean half-width"],
                    rows=halves,
                ),
                _interval_table(every),
                *(
                    TextTable(
                        title=f"mean / max error of every model, {words}",
                        columns=["model", *cycle_level.LEVELS],
                        rows=[[name, *cells] for name, cells in by_name.items()],
                    )
                    for words, by_name in models.items()
                ),
                facts(
                    "no constant of the value comes from the held-out kernels; the rule's form "
                    "(with bursts the geometric mean of inversion and window), and how far "
                    "intervals reach towards other models, were chosen with all of them in sight"
                ),
            ],
            verdict=verdict,
        )

    def draw(self, result: StudyResult, figure: Figure) -> str:
        """Draw predicted over true slowdown."""
        axes = figure.add_subplot()
        for number, compared in enumerate(result.tables):
            axes.plot(
                column(compared, "published"),
                column(compared),
                "o" if number < len(cycle_level.LEVELS) else "s",
                label=compared.title,
                markersize=4,
            )
        axes.axline((1.0, 1.0), slope=1.0, color="grey", linewidth=0.8)
        axes.set_xlabel("true slowdown")
        axes.set_ylabel("predicted slowdown")
        axes.grid(visible=True, alpha=0.25)
        axes.legend(fontsize=7)
        return "Predicted over true slowdown of ten kernels; on the line is right. " + self.source


def _level_table(
    title: str, cases: list[cycle_level.CyclePrediction], fitted: list[str]
) -> ComparisonTable:
    return table(
        title,
        "nearfar_studies/reference",
        "slowdown",
        [
            row(
                case.kernel,
                case.truth,
                case.predicted[DEFAULT_MODEL],
                interval=(case.interval.low, case.interval.high),
                rivals={name: case.predicted[name] for name in NAIVE_MODELS},
                note="" if case.kernel in fitted else "held out",
            )
            for case in cases
        ],
    )


def _level(level: str) -> str:
    return "a quarter of the bandwidth" if level == "bw4" else f"{level[1:]} times the latency"


def _of_intervals(cases: list[cycle_level.CyclePrediction]) -> list[str]:
    """Return what is to be said of 90 % intervals, in sentences."""
    plain = cycle_intervals.as_they_are(cases)
    sentences = [f"{plain.coverage:.0%} of {len(cases)} truths lie inside the 90 % intervals"]
    ours, null = cycle_intervals.calibrated(cases), cycle_intervals.calibrated(cases, "null")
    if ours is not None and null is not None:
        sentences.append(
            f"calibrated on the other kernels, intervals hold {ours.coverage:.0%}, and cost "
            f"{ours.score:.2f} (Winkler's score), those of no slowdown {null.score:.2f}; all "
            f"kernels together ask for ends {math.exp(ours.margin) - 1.0:+.1%} further out"
        )
    return sentences


def _interval_table(cases: list[cycle_level.CyclePrediction]) -> TextTable:
    """Return coverage, width and score of every model's calibrated intervals."""
    names: list[str | None] = [None, *(name for name in cases[0].predicted)]
    rows = [
        [
            f"{DEFAULT_MODEL}, by its own intervals" if name is None else name,
            f"{intervals.coverage:.0%}",
            f"{intervals.width:.2f}",
            f"{intervals.score:.2f}",
        ]
        for name in names
        if (intervals := cycle_intervals.calibrated(cases, name)) is not None
    ]
    return TextTable(
        title="90 % intervals, each calibrated on the other kernels",
        columns=["model", "coverage", "width", "score"],
        rows=rows,
    )


def _halves(cases: list[cycle_level.CyclePrediction], fitted: list[str]) -> list[str]:
    return [
        _mean_max([case for case in cases if (case.kernel in fitted) == half], DEFAULT_MODEL)
        for half in (True, False)
    ]


def _mean_max(cases: list[cycle_level.CyclePrediction], model: str) -> str:
    errors = [abs(case.error(model)) * 100 for case in cases]
    return f"{statistics.mean(errors):.1f} / {max(errors):.0f}" if errors else "-"


def _coverage(cases: list[cycle_level.CyclePrediction]) -> str:
    width = statistics.mean(
        (case.interval.high - case.interval.low) / 2 / case.interval.value for case in cases
    )
    return f"{sum(case.covered for case in cases)} of {len(cases)}, +-{width:.0%}"

"""Predictions compared with an independent cycle-level simulator whose memory can be very slow."""

from __future__ import annotations

import math
import statistics

from matplotlib.figure import Figure

from nearfar.documents.study import ComparisonTable, StudyResult, TextTable
from nearfar.predict.model import DEFAULT_MODEL, NAIVE_MODELS
from nearfar_studies import cycle_intervals, cycle_level
from nearfar_studies.compare import column, facts, mean_max, row, table
from nearfar_studies.cycle_profiles import profiles
from nearfar_studies.study import STUDIES, Study, StudyInputs

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
        tables, levels, all_cases = [], [], []
        models: dict[str, dict[str, list[str]]] = {}
        for config, config_words in CONFIGS.items():
            for level in cycle_level.LEVELS:
                cases = cycle_level.cases(reference, profiled, config, level)
                tables.append(_level_table(f"{config_words}, {_level(level)}", cases))
                all_cases += cases
                levels.append(
                    [config_words, _level(level), _mean_max(cases, DEFAULT_MODEL), _coverage(cases)]
                )
                for name in cases[0].predicted:
                    models.setdefault(config_words, {}).setdefault(name, []).append(
                        _mean_max(cases, name)
                    )
        verdict = [
            f"{t.title}: error {mean_max(t.errors['ours'])}; predicting no slowdown, "
            f"{mean_max(t.errors['null'])}"
            for t in tables
        ]
        counted = cycle_level.counts(reference, profiled)
        verdict += [_of_counts(counted), *_of_intervals(all_cases)]
        return self.result(
            "nearfar's profile of each kernel, built by gcc, over the instructions that "
            "were simulated, with its own counts; its cycles at base level as near time; the "
            "device curves of base and of the slower level",
            tables=tables,
            texts=[
                _count_table(counted),
                TextTable(
                    title="mean / max error, %",
                    columns=["core", "level", "error of slowdown", "covered, mean half-width"],
                    rows=levels,
                ),
                _interval_table(all_cases),
                *(
                    TextTable(
                        title=f"mean / max error of every model, {config_words}",
                        columns=["model", *cycle_level.LEVELS],
                        rows=[[name, *cells] for name, cells in by_name.items()],
                    )
                    for config_words, by_name in models.items()
                ),
                facts(cycle_level.SEEN),
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


def _of_counts(counted: list[cycle_level.CountComparison]) -> str:
    errors = [abs(count.error) for count in counted]
    return (
        f"misses counted by the profile differ from the core's by {statistics.fmean(errors):.1%} "
        f"(mean) and {max(errors):.1%} (max)"
    )


def _count_table(counted: list[cycle_level.CountComparison]) -> TextTable:
    """Return the counts next to those of the core without prefetchers."""
    return TextTable(
        title="counts of the profile and of the core without prefetchers",
        columns=["kernel", "misses", "core's", "error", "write-backs", "core's"],
        rows=[
            [
                count.kernel,
                f"{count.misses:.0f}",
                f"{count.true_misses}",
                f"{count.error:+.1%}",
                f"{count.write_backs:.0f}",
                f"{count.true_write_backs}",
            ]
            for count in counted
        ],
    )


def _level_table(title: str, cases: list[cycle_level.CyclePrediction]) -> ComparisonTable:
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
            )
            for case in cases
        ],
    )


def _level(level: str) -> str:
    return "a quarter of the bandwidth" if level == "bw4" else f"{level[1:]} times the latency"


def _of_intervals(cases: list[cycle_level.CyclePrediction]) -> list[str]:
    """Return sentences about 90 % intervals."""
    plain = cycle_intervals.as_they_are(cases)
    sentences = [f"{plain.coverage:.0%} of {len(cases)} slowdowns are inside the 90 % intervals"]
    ours, null = cycle_intervals.calibrated(cases), cycle_intervals.calibrated(cases, "null")
    if ours is not None and null is not None:
        sentences.append(
            f"calibrated on the other kernels, the intervals contain {ours.coverage:.0%} of "
            f"slowdowns and have a Winkler score of {ours.score:.2f} (predicting no slowdown, "
            f"{null.score:.2f}); calibrated on all kernels, their ends move outwards by "
            f"{math.exp(ours.margin) - 1.0:.1%}"
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


def _mean_max(cases: list[cycle_level.CyclePrediction], model: str) -> str:
    errors = [abs(case.error(model)) * 100 for case in cases]
    return f"{statistics.mean(errors):.1f} / {max(errors):.0f}" if errors else "-"


def _coverage(cases: list[cycle_level.CyclePrediction]) -> str:
    width = statistics.mean(
        (case.interval.high - case.interval.low) / 2 / case.interval.value for case in cases
    )
    return f"{sum(case.covered for case in cases)} of {len(cases)}, +-{width:.0%}"

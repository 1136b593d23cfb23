"""Slowdowns that no ordinary machine can make, against an independent cycle-level core."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from nearfar.documents.study import StudyResult, TextTable
from nearfar.predict.model import DEFAULT_MODEL, NAIVE_MODELS
from nearfar.study import cycle_level
from nearfar.study.compare import column, covered, mean_max, row, table
from nearfar.study.study import STUDIES, Given, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONFIGS = {"nopf": "no prefetchers", "pf": "stride and SPP prefetchers"}


@STUDIES.register("cycle-level")
class CycleLevel(Study):
    """Ten kernels at 1.5 to 4 times the latency, and at a quarter of the bandwidth."""

    title = "ten kernels on a cycle-level core with slower memory"
    source = "ChampSim runs made for this project, shared beside the repository"

    def run(self, given: Given) -> StudyResult:
        """Predict every kernel at every level from its run at base level."""
        reference = cycle_level.load(given.shared / "reference/cycle-level/cycle-level.json")
        tables, halves = [], []
        for config, words in CONFIGS.items():
            for level in cycle_level.LEVELS:
                found = cycle_level.cases(reference, config, level)
                tables.append(
                    table(
                        f"{words}, {_level(level)}",
                        "shared/reference/cycle-level",
                        "slowdown",
                        [
                            row(
                                case.kernel,
                                case.truth,
                                case.predicted[DEFAULT_MODEL],
                                interval=(case.interval.low, case.interval.high),
                                rivals={name: case.predicted[name] for name in NAIVE_MODELS},
                                note="" if case.kernel in cycle_level.FITTED else "held out",
                            )
                            for case in found
                        ],
                    )
                )
                halves.append([words, _level(level), *_halves(found), _coverage(found)])
        verdict = [
            f"{t.title}: {mean_max(t.errors['ours'])}; no slowdown at all is "
            f"{mean_max(t.errors['null'])}"
            for t in tables
        ]
        inside, of = (sum(x) for x in zip(*map(covered, tables), strict=True))
        verdict.append(f"{inside} of {of} truths lie inside the 95 % intervals")
        verdict.append(
            "no constant was taken from the held-out kernels; the rule's form was written with all "
            "ten in sight"
        )
        return StudyResult(
            name=self.name,
            title=self.title,
            source=self.source,
            inputs="each kernel's run at base level: its cycles as near time, its misses; access "
            "classes read off its source; the device curves of base and of the slower level",
            tables=tables,
            texts=[
                TextTable(
                    title="mean / max error by half",
                    columns=["core", "level", "fitted", "held out", "covered, mean half-width"],
                    rows=halves,
                )
            ],
            verdict=verdict,
        )

    def draw(self, result: StudyResult, figure: Figure) -> str:
        """Draw predicted over true slowdown."""
        axes = figure.add_subplot()
        for number, found in enumerate(result.tables):
            axes.plot(
                column(found, "published"),
                column(found),
                "o" if number < len(cycle_level.LEVELS) else "s",
                label=found.title,
                markersize=4,
            )
        axes.axline((1.0, 1.0), slope=1.0, color="grey", linewidth=0.8)
        axes.set_xlabel("true slowdown")
        axes.set_ylabel("predicted slowdown")
        axes.grid(visible=True, alpha=0.25)
        axes.legend(fontsize=7)
        return "Predicted over true slowdown of ten kernels; on the line is right. " + self.source


def _level(level: str) -> str:
    return "a quarter of the bandwidth" if level == "bw4" else f"{level[1:]} times the latency"


def _halves(found: list[cycle_level.Case]) -> list[str]:
    cells = []
    for fitted in (True, False):
        errors = [
            abs(case.error(DEFAULT_MODEL)) * 100
            for case in found
            if (case.kernel in cycle_level.FITTED) == fitted
        ]
        cells.append(f"{statistics.mean(errors):.1f} / {max(errors):.0f}")
    return cells


def _coverage(found: list[cycle_level.Case]) -> str:
    width = statistics.mean(
        (case.interval.high - case.interval.low) / 2 / case.interval.value for case in found
    )
    return f"{sum(case.covered for case in found)} of {len(found)}, +-{width:.0%}"

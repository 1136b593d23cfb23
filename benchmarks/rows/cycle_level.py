"""Errors of slowdowns predicted from profiles against a cycle-level core with slower memory."""

from __future__ import annotations

import statistics
import sys

from benchmarks import Row, make_row
from nearfar.base.errors import NearfarError
from nearfar.predict.model import DEFAULT_MODEL
from nearfar_studies import cycle_intervals, cycle_level
from nearfar_studies.cycle_profiles import profiles

SECONDS = 90
COMPUTES = True

BARS = {
    ("nopf", "x2"): (3.0, 12.0),
    ("nopf", "x4"): (5.0, 15.0),
    ("nopf", "bw4"): (3.0, 8.0),
    ("pf", "x2"): (4.0, 15.0),
    ("pf", "x4"): (6.0, 20.0),
    ("pf", "bw4"): (4.0, 15.0),
}
"""Bars of mean and greatest error, %, with unscaled counts."""

COUNT_BARS = (1.0, 5.0)
"""Mean and greatest error of the profiles' misses, %."""

CORES = {"nopf": "no prefetchers", "pf": "prefetchers"}


def rows() -> list[Row]:
    """Profile the kernels and predict them at every judged level."""
    try:
        reference = cycle_level.load()
        source = cycle_level.REFERENCE.with_name("kernels.c")
        profiled = profiles(source, tuple(cycle_level.kernels(reference)))
    except NearfarError as missing:
        print(f"cycle_level: left out, {missing}", file=sys.stderr)
        return []
    results = []
    every = [
        case
        for config in cycle_level.CONFIGS
        for level in cycle_level.LEVELS
        for case in cycle_level.cases(reference, profiled, config, level)
    ]
    for (config, level), bars in BARS.items():
        cases = cycle_level.cases(reference, profiled, config, level)
        errors = [abs(case.error(DEFAULT_MODEL)) * 100 for case in cases]
        null = [abs(case.error("null")) * 100 for case in cases]
        for word, of, bar in zip(("mean", "max"), (statistics.mean, max), bars, strict=True):
            results.append(
                make_row(
                    f"cycle-level core, {CORES[config]}, {level}: {word} error of "
                    f"{len(cases)} kernels",
                    of(errors),
                    "%",
                    bar=bar,
                    peer="no slowdown at all",
                    peer_value=of(null),
                    command="nearfar reproduce cycle-level",
                )
            )
    return _of_counts(cycle_level.counts(reference, profiled)) + results + _of_intervals(every)


def _of_counts(counted: list[cycle_level.CountComparison]) -> list[Row]:
    """Judge the profiles' own counts, as context for the errors of time."""
    errors = [abs(count.error) * 100 for count in counted]
    return [
        make_row(
            f"cycle-level core: {word} error of the misses that profiles count, "
            f"{len(counted)} kernels",
            of(errors),
            "%",
            bar=bar,
            peer="none: the counts decide what the model can know",
            command="nearfar reproduce cycle-level",
        )
        for word, of, bar in zip(("mean", "max"), (statistics.mean, max), COUNT_BARS, strict=True)
    ]


def _of_intervals(cases: list[cycle_level.CyclePrediction]) -> list[Row]:
    """Judge 90 % intervals, grouped by kernel, next to those of the null model."""
    ours, null = cycle_intervals.calibrated(cases), cycle_intervals.calibrated(cases, "null")
    if ours is None or null is None:
        return []
    return [
        make_row(
            f"cycle-level core, all {len(cases)} cases: coverage of 90 % intervals, off 90 % by",
            100 * abs(ours.coverage - 0.9),
            "%",
            bar=5.0,
            peer="null, calibrated too",
            peer_value=100 * abs(null.coverage - 0.9),
            command="nearfar reproduce cycle-level",
        ),
        make_row(
            f"cycle-level core, all {len(cases)} cases: interval score",
            ours.score,
            "",
            bar=1.0,
            judge="ratio",
            peer="null, calibrated too",
            peer_value=null.score,
            command="nearfar reproduce cycle-level",
        ),
    ]

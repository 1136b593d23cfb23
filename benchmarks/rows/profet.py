"""Errors of slowdowns predicted from measured programs' counters on another memory."""

from __future__ import annotations

import statistics

from benchmarks import Row, make_row
from nearfar_studies import profet
from nearfar_studies.cycle_level import CyclePrediction

SECONDS = 8
QUICK = True
COMPUTES = True

BARS = {"fast to slow": (1.7, 12.0), "slow to fast": (2.3, 25.0)}
"""Mean and greatest error, %. The greatest error slow to fast is a guard."""

COMMAND = "nearfar reproduce profet-counters"


def rows() -> list[Row]:
    """Predict PROFET's programs from each memory to the other."""
    figures = profet.load()
    by_direction: dict[str, list[CyclePrediction]] = {name: [] for name in BARS}
    for platform in profet.PLATFORMS:
        for direction, cases in profet.cases(figures, platform).items():
            by_direction[direction] += cases
    listed = []
    for direction, bars in BARS.items():
        cases = by_direction[direction]
        errors, null = (
            [abs(case.error(model)) * 100 for case in cases] for model in (profet.MODEL, "null")
        )
        for word, of, bar in zip(("mean", "max"), (statistics.mean, max), bars, strict=True):
            listed.append(
                make_row(
                    f"counters of measured programs, {direction}: {word} error of {len(cases)}",
                    of(errors),
                    "%",
                    bar=bar,
                    peer="no slowdown at all",
                    peer_value=of(null),
                    command=COMMAND,
                )
            )
    every = [case for cases in by_direction.values() for case in cases]
    listed.append(
        make_row(
            f"counters of measured programs, all {len(every)}: coverage of 90 % intervals, off 90 "
            "% by",
            100 * abs(statistics.fmean(case.covered for case in every) - 0.9),
            "%",
            bar=5.0,
            peer="",
            command=COMMAND,
        )
    )
    return listed

"""How near slowdowns on a cycle-level core with slower memory are predicted from profiles."""

from __future__ import annotations

import statistics
import sys

from benchmarks import Row, make_row
from nearfar.base.errors import NearfarError
from nearfar.predict.model import DEFAULT_MODEL
from nearfar.study import cycle_level
from nearfar.study.cycle_profiles import profiles

BARS = {
    ("nopf", "x2"): (6.0, 20.0),
    ("nopf", "x4"): (8.0, 25.0),
    ("nopf", "bw4"): (5.0, 20.0),
    ("pf", "x2"): (10.0, 30.0),
    ("pf", "x4"): (15.0, 40.0),
    ("pf", "bw4"): (7.0, 25.0),
}
"""Mean and greatest error, %, that the issue asks for."""

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
    found = []
    for (config, level), bars in BARS.items():
        cases = cycle_level.cases(reference, profiled, config, level)
        errors = [abs(case.error(DEFAULT_MODEL)) * 100 for case in cases]
        null = [abs(case.error("null")) * 100 for case in cases]
        for word, of, bar in zip(("mean", "max"), (statistics.mean, max), bars, strict=True):
            found.append(
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
    return found

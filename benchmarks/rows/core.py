"""Inference of a core: on simulated cores against the truth, and twice on this machine."""

from __future__ import annotations

from benchmarks import Row, make_row
from nearfar.machine.read import read_machine
from nearfar.measure.core import (
    SIZES,
    CoreLacksError,
    disagreements,
    measure_this_core,
    self_test,
    simulated_cores,
    within_one_step,
)

SECONDS = 95

SEED, CORES = 19, 5
"""Random cores that no choice was based on."""


def rows() -> list[Row]:
    """Count wrong figures, and figures in which two runs disagree."""
    verdicts = [each for core in simulated_cores(SEED, CORES) for each in self_test(core)]
    wrong = [
        (key, truth, figure)
        for key, truth, figure in verdicts
        if not within_one_step(truth, figure)
    ]
    for key, truth, figure in wrong:
        print(f"{key}: {truth:g} is the truth, {figure}")
    command = "ONLY=core python -m benchmarks"
    table = [
        make_row(
            f"figures of {CORES} simulated cores that are off by more than one step, of "
            f"{len(verdicts)}",
            float(len(wrong)),
            "figures",
            bar=0.0,
            peer="the simulated cores' own parameters",
            command=command,
        )
    ]
    try:
        first, second = (measure_this_core(read_machine()) for _ in range(2))
    except CoreLacksError as error:
        print(f"two runs here: not measured: {error}")
        return table
    apart = disagreements(first, second)
    for sentence in apart:
        print(sentence)
    return [
        *table,
        make_row(
            f"sizes that two runs on this machine disagree on, of {len(SIZES)}",
            float(len(apart)),
            "sizes",
            bar=0.0,
            peer="the first run",
            command=command,
        ),
    ]

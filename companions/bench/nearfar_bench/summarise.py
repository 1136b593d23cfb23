"""Summary of runs as a BenchResult: medians, intervals, slowdowns round by round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nearfar.base.estimate import Estimate
from nearfar.base.statistics import median_estimate
from nearfar.documents.bench import BenchCell, BenchResult, Durability
from nearfar.documents.header import producer
from nearfar_bench.experiment import Experiment
from nearfar_bench.kind import KindReport, common_figures
from nearfar_bench.matrix import baseline_of
from nearfar_bench.native import Mode, WorkloadRun

RESAMPLES = 10_000
"""Resamples of the published intset comparison (Bastelli et al., WSCAD 2022)."""

COST = "ns_per_operation"
"""Figure whose ratio is the slowdown."""


def summarise(
    experiment: Experiment,
    runs: Sequence[tuple[dict[str, str], Mapping[Mode, Sequence[WorkloadRun]]]],
    left_out: list[str],
    kind: KindReport,
) -> BenchResult:
    """Return the result of `runs`: each cell with its lines by mode, in the order of the rounds."""
    result_cells = [_cell(cell, by_mode, kind) for cell, by_mode in runs]
    by_arguments = {tuple(each.arguments.items()): each for each in result_cells}
    for each in result_cells:
        baseline = baseline_of(each.arguments, experiment.compare)
        base = None if baseline is None else by_arguments.get(tuple(baseline.items()))
        if base is not None:
            each.slowdown = slowdown(each, base)
    result = BenchResult(
        producer=producer(),
        name=experiment.name,
        title=experiment.title,
        workload=experiment.kind,
        imitates=experiment.imitates,
        repeats=experiment.repeats,
        arguments=experiment.arguments,
        matrix=experiment.matrix,
        baseline=experiment.compare,
        picture=experiment.picture,
        cells=result_cells,
        left_out=left_out,
    )
    result.summary = kind.summary(result)
    return result


def slowdown(cell: BenchCell, base: BenchCell) -> Estimate:
    """Return how many times longer an operation takes than in `base`: median of the rounds' ratios.

    Runs of one round are close in time, so drift between rounds cancels.
    """
    ratios = [
        ours / theirs
        for ours, theirs in zip(cell.samples[COST], base.samples[COST], strict=False)
        if theirs > 0
    ]
    return median_estimate(ratios, resamples=RESAMPLES)


def _cell(
    cell: dict[str, str], by_mode: Mapping[Mode, Sequence[WorkloadRun]], kind: KindReport
) -> BenchCell:
    timed = by_mode["time"]
    samples: dict[str, list[float]] = {}
    for line in timed:
        for name, value in {**common_figures(line), **kind.figures(line)}.items():
            samples.setdefault(name, []).append(float(value))
    first = timed[0]
    counts: dict[str, float] = {}
    for line in by_mode.get("count", ()):
        counts = {name: value / max(line.operations, 1) for name, value in line.counts.items()}
    latency: dict[str, float] = {}
    for line in by_mode.get("latency", ()):
        latency = dict(line.latency_ns)
    return BenchCell(
        arguments=cell,
        samples=samples,
        figures={
            name: median_estimate(values, resamples=RESAMPLES) for name, values in samples.items()
        },
        latency_ns=latency,
        counts=counts,
        durability=Durability(**first.durability),
        verified=first.verified,
        words=first.words,
    )

"""Run an experiment: rounds of all cells; separate runs for percentiles and counts."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError, nearest
from nearfar.base.estimate import Estimate
from nearfar.base.statistics import median_estimate
from nearfar.documents import save
from nearfar.documents.bench import BenchCell, BenchResult, Durability
from nearfar.documents.header import producer
from nearfar_bench.experiment import Experiment
from nearfar_bench.kind import KindReport, common_figures, kind_of
from nearfar_bench.memories import BenchMemory, expand, find_memory
from nearfar_bench.native import Mode, WorkloadRun, find_kind, run
from nearfar_bench.progress import FinishedRuns

Progress = Callable[[int, int, str], None]
"""Function called before each run with runs done, runs in total, and the cell in words."""

DEFAULT_MEMORY = "volatile"
MAX_THREADS = 4096
"""Twice the processors of the largest x86 machines. The system kills a process of 100,000 threads
without a message."""


@dataclass(frozen=True)
class _PlannedCell:
    """A cell that this machine can run."""

    cell: dict[str, str]
    arguments: dict[str, str]
    memory: BenchMemory


def bench(
    experiment: Experiment, output: Path | None = None, progress: Progress | None = None
) -> BenchResult:
    """Run every cell of `experiment` and return the result.

    With `output`, finished runs are saved next to it, and an interrupted experiment continues from
    there. Raise NearfarError if no cell can run on this machine or content was wrong.
    """
    experiment = _for_this_machine(experiment)
    with contextlib.closing(FinishedRuns(experiment, output)) as finished:
        result = _run_and_summarise(experiment, finished, progress)
        if output is not None:
            save(result, output)
        finished.finish()
    return result


def _run_and_summarise(
    experiment: Experiment, finished: FinishedRuns, progress: Progress | None
) -> BenchResult:
    """Run everything that `finished` does not contain yet, and summarise all runs."""
    planned, left_out = _plan(experiment)
    rounds = _rounds(experiment, planned)
    total = len(rounds)
    failed: dict[int, str] = {}
    for done, (cell, round_, mode) in enumerate(rounds):
        if cell in failed or (cell, round_, mode) in finished.runs:
            continue
        planned_cell = planned[cell]
        if progress is not None:
            progress(done, total, cell_text(planned_cell.cell))
        try:
            line = run(experiment.kind, planned_cell.arguments, planned_cell.memory, mode)
        except NearfarError as error:
            # If the machine lacks something for one cell, the others still run.
            if error.exit_code is not ExitCode.MACHINE_LACKS or len(planned) == 1:
                raise
            failed[cell] = str(error)
            left_out.append(f"{cell_text(planned_cell.cell)}: {error}")
            continue
        finished.add(cell, round_, mode, line)
    if len(failed) == len(planned):
        raise NearfarError(f"nothing could be run: {left_out[0]}", ExitCode.MACHINE_LACKS)
    lines: dict[int, dict[Mode, list[WorkloadRun]]] = {}
    for (cell, _, mode), line in sorted(finished.runs.items()):
        if cell not in failed:
            lines.setdefault(cell, {}).setdefault(mode, []).append(line)
    return summarise(
        experiment,
        [(planned[cell].cell, by_mode) for cell, by_mode in sorted(lines.items())],
        left_out,
        kind_of(experiment.kind),
    )


def cell_text(cell: dict[str, str]) -> str:
    """Return a cell in words."""
    return ", ".join(f"{key} {value}" for key, value in cell.items()) or "the one cell"


def _for_this_machine(experiment: Experiment) -> Experiment:
    """Check the experiment against the kind's parameters; resolve ``every`` memory."""
    kind = find_kind(experiment.kind)
    if kind.needs:
        raise NearfarError(
            f"the kind {kind.name} needs {kind.needs}, which was not installed when nearfar was "
            "built: run `make setup`",
            ExitCode.MACHINE_LACKS,
        )
    valid = [each.name for each in kind.parameters if each.name not in ("mode", "pool")]
    for key in (*experiment.arguments, *experiment.matrix):
        if key not in valid:
            raise NearfarError(f"the kind {kind.name} has no argument {key!r}{nearest(key, valid)}")
    matrix = dict(experiment.matrix)
    if "memory" in matrix:
        matrix["memory"] = expand(matrix["memory"])
    elif experiment.arguments.get("memory") == "every":
        arguments = {k: v for k, v in experiment.arguments.items() if k != "memory"}
        return replace(
            experiment, arguments=arguments, matrix={**matrix, "memory": expand(["every"])}
        )
    return replace(experiment, matrix=matrix)


def _plan(experiment: Experiment) -> tuple[list[_PlannedCell], list[str]]:
    """Return the cells that this machine can run, and why it cannot run the others."""
    planned, left_out = [], []
    errors: dict[str, NearfarError] = {}
    for cell in cells(experiment):
        arguments = {**experiment.arguments, **cell}
        _check_threads(arguments)
        memory_word = arguments.pop("memory", DEFAULT_MEMORY)
        try:
            planned.append(_PlannedCell(cell, arguments, find_memory(memory_word)))
        except NearfarError as error:
            if error.exit_code is not ExitCode.MACHINE_LACKS:
                raise
            if memory_word not in errors:
                left_out.append(str(error))
            errors[memory_word] = error
    if not planned:
        raise next(iter(errors.values()))
    return planned, left_out


def _check_threads(arguments: dict[str, str]) -> None:
    """Refuse a number of threads out of range; the executable refuses a text that is no number."""
    given = arguments.get("threads", "1")
    if given.isdecimal() and not 1 <= int(given[:20]) <= MAX_THREADS:
        raise NearfarError(f"threads={given}: it must be from 1 to {MAX_THREADS}")


def _rounds(experiment: Experiment, planned: list[_PlannedCell]) -> list[tuple[int, int, Mode]]:
    """Return all runs in order: counts first, because errors show there soonest."""
    runs: list[tuple[int, int, Mode]] = []
    for cell, planned_cell in enumerate(planned):
        if experiment.counts and planned_cell.memory.is_pool:
            runs.append((cell, 0, "count"))
    for round_ in range(experiment.repeats):
        runs += [(cell, round_, "time") for cell in range(len(planned))]
    if experiment.latency:
        runs += [(cell, 0, "latency") for cell in range(len(planned))]
    return runs


RESAMPLES = 10_000
"""Resamples of the published intset comparison (Bastelli et al., WSCAD 2022)."""

COST = "ns_per_operation"
"""Figure whose ratio gives the slowdown."""


def summarise(
    experiment: Experiment,
    runs: Sequence[tuple[dict[str, str], Mapping[Mode, Sequence[WorkloadRun]]]],
    left_out: list[str],
    kind: KindReport,
) -> BenchResult:
    """Return the result of `runs`: each cell with its lines by mode, in the order of rounds."""
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
    """Return an operation's time over that in `base`: the median of the rounds' ratios.

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
    """Return a cell's result from its runs by mode."""
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


def cells(experiment: Experiment) -> list[dict[str, str]]:
    """Return every combination of the matrix that is not left out, the last key fastest."""
    keys = list(experiment.matrix)
    matching = []
    for values in itertools.product(*(experiment.matrix[key] for key in keys)):
        cell = dict(zip(keys, values, strict=True))
        if not any(
            _matches({**experiment.arguments, **cell}, rule) for rule in experiment.leave_out
        ):
            matching.append(cell)
    if not matching:
        raise NearfarError(f"the experiment {experiment.name} leaves out all of its combinations")
    return matching


def baseline_of(cell: Mapping[str, str], compare: Mapping[str, str]) -> dict[str, str] | None:
    """Return the baseline of a cell; None if it is a baseline itself, or nothing is compared."""
    if not compare or all(cell.get(key) == value for key, value in compare.items()):
        return None
    return {**cell, **compare}


def _matches(cell: Mapping[str, str], rule: Mapping[str, list[str]]) -> bool:
    """Return whether the cell has, for every key of the rule, one of its values."""
    return all(cell.get(key) in values for key, values in rule.items())

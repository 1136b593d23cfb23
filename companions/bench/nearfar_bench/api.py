"""Run an experiment: rounds of all cells; separate runs for percentiles and counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError, nearest
from nearfar.documents import save
from nearfar.documents.bench import BenchResult
from nearfar_bench.experiment import Experiment
from nearfar_bench.kind import kind_of
from nearfar_bench.matrix import cells
from nearfar_bench.memories import BenchMemory, expand, find_memory
from nearfar_bench.native import Mode, WorkloadRun, find_kind, run
from nearfar_bench.progress import FinishedRuns
from nearfar_bench.summarise import summarise

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
    experiment = _here(experiment)
    planned, left_out = _plan(experiment)
    kept = FinishedRuns(experiment, output)
    rounds = _rounds(experiment, planned)
    total = len(rounds)
    failed: dict[int, str] = {}
    for done, (cell, round_, mode) in enumerate(rounds):
        if cell in failed or (cell, round_, mode) in kept.runs:
            continue
        each = planned[cell]
        if progress is not None:
            progress(done, total, cell_text(each.cell))
        try:
            line = run(experiment.kind, each.arguments, each.memory, mode)
        except NearfarError as error:
            # A requirement that is missing for one cell must not stop the others.
            if error.exit_code is not ExitCode.MACHINE_LACKS or len(planned) == 1:
                raise
            failed[cell] = str(error)
            left_out.append(f"{cell_text(each.cell)}: {error}")
            continue
        kept.add(cell, round_, mode, line)
    if len(failed) == len(planned):
        raise NearfarError(f"nothing could be run: {left_out[0]}", ExitCode.MACHINE_LACKS)
    lines: dict[int, dict[Mode, list[WorkloadRun]]] = {}
    for (cell, _, mode), line in sorted(kept.runs.items()):
        if cell not in failed:
            lines.setdefault(cell, {}).setdefault(mode, []).append(line)
    result = summarise(
        experiment,
        [(planned[cell].cell, by_mode) for cell, by_mode in sorted(lines.items())],
        left_out,
        kind_of(experiment.kind),
    )
    if output is not None:
        save(result, output)
    kept.finish()
    return result


def cell_text(cell: dict[str, str]) -> str:
    """Return a cell in words."""
    return ", ".join(f"{key} {value}" for key, value in cell.items()) or "the one cell"


def _here(experiment: Experiment) -> Experiment:
    """Check the experiment against the kind's parameters; resolve ``every`` memory."""
    kind = find_kind(experiment.kind)
    if kind.needs:
        raise NearfarError(
            f"the kind {kind.name} needs {kind.needs}, which was not there when nearfar was built: "
            "run `make setup`",
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
    planned, left_out = [], []
    problems: dict[str, NearfarError] = {}
    for cell in cells(experiment):
        arguments = {**experiment.arguments, **cell}
        _check_threads(arguments)
        word = arguments.pop("memory", DEFAULT_MEMORY)
        try:
            planned.append(_PlannedCell(cell, arguments, find_memory(word)))
        except NearfarError as error:
            if error.exit_code is not ExitCode.MACHINE_LACKS:
                raise
            if word not in problems:
                left_out.append(str(error))
            problems[word] = error
    if not planned:
        raise next(iter(problems.values()))
    return planned, left_out


def _check_threads(arguments: dict[str, str]) -> None:
    """Refuse too many threads; the executable refuses what is no number."""
    given = arguments.get("threads", "1")
    if given.isdecimal() and not 1 <= int(given[:20]) <= MAX_THREADS:
        raise NearfarError(f"threads={given}: it must be from 1 to {MAX_THREADS}")


def _rounds(experiment: Experiment, planned: list[_PlannedCell]) -> list[tuple[int, int, Mode]]:
    """Return all runs in order: counts first, because errors show there soonest."""
    runs: list[tuple[int, int, Mode]] = []
    for cell, each in enumerate(planned):
        if experiment.counts and each.memory.is_pool:
            runs.append((cell, 0, "count"))
    for round_ in range(experiment.repeats):
        runs += [(cell, round_, "time") for cell in range(len(planned))]
    if experiment.latency:
        runs += [(cell, 0, "latency") for cell in range(len(planned))]
    return runs

"""The verb `sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from nearfar.commands._options import JsonOption, QuietOption

if TYPE_CHECKING:
    from rich.console import Console

    from nearfar.documents.sweep import FailedPoint, Sweep

SHOWN = 20
"""Failed points that are listed; all are in sweep.json."""


def sweep(
    file: Path,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    scheduler: str | None = None,
    workers: int | None = None,
    resume: bool = True,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Compute a whole matrix of points: programs x sizes x devices x budgets x models x seeds.

    The file says what: every key of a block such as [[predict]] may hold a list, and lists
    multiply. Points run in parallel; measured ones alone on their machine. Every point is named by
    what it is computed from, and what is finished is never computed again: the same command goes on
    after anything was killed. Results are Parquet files. Exit code 1 if a point failed; the others
    are there.

    Parameters
    ----------
    file
        What to compute, as TOML: docs/sweep.md.
    output
        Folder of the results. Default: beside the file, under its name.
    scheduler
        A Dask scheduler that is there, such as tcp://head:8786, of any kind of cluster.
    workers
        Processes to start here instead. Default: one for every processor.
    resume
        --no-resume removes what is finished in the folder and computes everything.
    dry_run
        Check everything and say how many points there are.
    """
    from rich.console import Console

    from nearfar.base.errors import ExitCode
    from nearfar.base.terminate import terminated_as_interrupted
    from nearfar.documents.header import to_json
    from nearfar.sweep.api import SweepExecution, check_here, plan
    from nearfar.sweep.api import sweep as run
    from nearfar.sweep.progress import progress

    errors = Console(stderr=True, quiet=quiet)

    def say(text: str) -> None:
        errors.print(f"nearfar: {text}", style="dim", markup=False, highlight=False)

    folder = file.with_suffix("") if output is None else output
    if output is None and folder == file:
        folder = file.with_name(f"{file.name}-results")
    planned = plan(file)
    if dry_run:
        if scheduler is None:
            check_here(planned)
        _show_plan(planned.matrix.points, folder, json=json, quiet=quiet)
        return int(ExitCode.DONE)
    how = SweepExecution(
        scheduler=scheduler,
        workers=workers,
        resume=resume,
        watching=lambda total, already: progress(errors, total, already),
        say=say,
    )
    with terminated_as_interrupted():
        found = run(planned, folder, how)
    if json:
        print(to_json(found).decode(), end="")
    elif not quiet:
        _show(found, Console())
    return int(ExitCode.FOUND if found.failed or found.not_tried else ExitCode.DONE)


def _show_plan(points: object, folder: Path, *, json: bool, quiet: bool) -> None:
    from collections import Counter
    from json import dumps

    from nearfar.sweep.expand import SweepPoint

    assert isinstance(points, dict)
    kinds = Counter(point.kind for point in points.values() if isinstance(point, SweepPoint))
    if json:
        print(dumps({"points": kinds, "total": sum(kinds.values()), "folder": str(folder)}))
    elif not quiet:
        parts = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
        print(f"{sum(kinds.values()):,} points ({parts}); results would be in {folder}")


def _show(found: Sweep, console: Console) -> None:
    def line(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    total = sum(found.points.values())
    rate = f" in {found.seconds:.1f} s by {found.workers} workers" if found.workers else ""
    line(
        f"{total:,} points: {found.finished_before:,} were finished, {found.finished_now:,} "
        f"computed now{rate}, {len(found.failed):,} failed"
    )
    for one in found.failed[:SHOWN]:
        line(f"  {_named(one)}: {one.error}")
    if len(found.failed) > SHOWN:
        line(f"  and {len(found.failed) - SHOWN} more: see sweep.json")
    if found.not_tried:
        line(f"  {found.not_tried:,} points were not tried: what they read could not be made")
    if found.of_other_versions:
        line(
            f"{found.of_other_versions:,} finished points there are not of this file and nearfar: "
            "a semi join with plan.parquet leaves them out"
        )
    line(f"results: {found.dataset}/*.parquet")


def _named(one: FailedPoint) -> str:
    """Return a point as its block says it."""
    from json import loads

    given = loads(one.parameters)
    hidden = ("source", "command", "folder", "environment", "files")
    parts = [f"{k}={v}" for k, v in given.items() if v not in (None, {}, "") and k not in hidden]
    return f"{one.kind} {' '.join(parts)} ({one.point[:12]})"

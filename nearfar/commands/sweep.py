"""The verb `sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.base.errors import ExitCode
from nearfar.commands._verb import verb
from nearfar.options.shared import JsonOptions
from nearfar.options.sweep import SweepOptions

if TYPE_CHECKING:
    from rich.console import Console

    from nearfar.documents.sweep import FailedPoint, Sweep
    from nearfar.sweep.encryption import TlsFiles

MAX_FAILED_SHOWN = 20
"""Failed points that are listed; all are in sweep.json."""


@verb(SweepOptions, JsonOptions)
def sweep(options: SweepOptions, delivery: JsonOptions) -> int:
    """Compute a whole matrix of points: programs x sizes x devices x budgets x models x seeds.

    The file lists the points: every key of a block such as [[predict]] may hold a list, and lists
    multiply. Points run in parallel, but measured ones run alone on their machine. A point's name
    is made from its inputs, and a finished point is never computed again: after an interruption,
    the same command continues. Results are Parquet files. Exit code 1 if a point failed; the
    results of the others are kept.
    """
    from rich.console import Console

    from nearfar.base.terminate import terminated_as_interrupted
    from nearfar.commands._deliver import print_json, sayer
    from nearfar.sweep.planning import check_here, plan

    errors = Console(stderr=True, quiet=delivery.quiet)
    planned = plan(options.file)
    if options.dry_run:
        if options.scheduler is None:
            check_here(planned)
        _show_plan(planned.matrix.points, options.folder(), delivery)
        return int(ExitCode.DONE)
    # Imported here, because a dry run needs neither Dask nor Parquet.
    from nearfar.sweep.api import SweepExecution
    from nearfar.sweep.api import sweep as run
    from nearfar.sweep.progress import progress

    execution = SweepExecution(
        scheduler=options.scheduler,
        tls=_tls_files(options),
        workers=options.workers,
        resume=options.resume,
        watching=lambda total, already: progress(errors, total, already),
        say=sayer(errors),
    )
    with terminated_as_interrupted():
        result = run(planned, options.folder(), execution)
    if delivery.json:
        print_json(result)
    elif not delivery.quiet:
        _show(result, Console())
    return int(ExitCode.FOUND if result.failed or result.not_tried else ExitCode.DONE)


def _tls_files(options: SweepOptions) -> TlsFiles | None:
    from nearfar.sweep.encryption import TlsFiles

    authority, certificate, key = options.tls_ca_file, options.tls_cert, options.tls_key
    if authority is None or certificate is None or key is None:
        return None
    return TlsFiles(authority=authority, certificate=certificate, key=key)


def _show_plan(points: object, folder: Path, delivery: JsonOptions) -> None:
    from collections import Counter
    from json import dumps

    from nearfar.sweep.expand import SweepPoint

    assert isinstance(points, dict)
    kinds = Counter(point.kind for point in points.values() if isinstance(point, SweepPoint))
    if delivery.json:
        print(dumps({"points": kinds, "total": sum(kinds.values()), "folder": str(folder)}))
    elif not delivery.quiet:
        parts = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
        print(f"{sum(kinds.values()):,} points ({parts}); results would be in {folder}")


def _show(result: Sweep, console: Console) -> None:
    def line(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    total = sum(result.points.values())
    rate = f" in {result.seconds:.1f} s by {result.workers} workers" if result.workers else ""
    line(
        f"{total:,} points: {result.finished_before:,} were finished, {result.finished_now:,} "
        f"computed now{rate}, {len(result.failed):,} failed"
    )
    for point in result.failed[:MAX_FAILED_SHOWN]:
        line(f"  {_named(point)}: {point.error}")
    if len(result.failed) > MAX_FAILED_SHOWN:
        line(f"  and {len(result.failed) - MAX_FAILED_SHOWN} more: see sweep.json")
    if result.not_tried:
        line(f"  {result.not_tried:,} points were not tried: their inputs could not be made")
    if result.of_other_versions:
        line(
            f"{result.of_other_versions:,} finished points there are not of this file and nearfar: "
            "a semi join with plan.parquet leaves them out"
        )
    line(f"results: {result.dataset}/*.parquet")


def _named(point: FailedPoint) -> str:
    """Return the text of a point's keys and values, as in the sweep file."""
    from json import loads

    given = loads(point.parameters)
    hidden = ("source", "command", "folder", "environment", "files")
    parts = [f"{k}={v}" for k, v in given.items() if v not in (None, {}, "") and k not in hidden]
    return f"{point.kind} {' '.join(parts)} ({point.point[:12]})"

"""Sweep from Python: a file in, a dataset and a `Sweep` out.

A script that calls `sweep` has its code under ``if __name__ == "__main__":``, since workers are
new processes that import it.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import CommandError, NearfarError
from nearfar.base.units import format_count
from nearfar.documents import producer, save
from nearfar.documents.sweep import FailedPoint, Sweep
from nearfar.sweep.cluster import check_workers, existing_cluster, local_cluster, processors
from nearfar.sweep.dataset import HEAD, Dataset
from nearfar.sweep.dispatch import Dispatcher
from nearfar.sweep.encryption import TlsFiles, open_to_all
from nearfar.sweep.journal import recover
from nearfar.sweep.planning import PlannedSweep, check_here

Tell = Callable[[int, int, float | None], None]


@dataclass(frozen=True)
class SweepExecution:
    """The workers of a sweep, and how to report progress."""

    scheduler: str | None = None
    """Address of a Dask scheduler; None: start workers on this machine."""
    tls: TlsFiles | None = None
    """Files that a scheduler with TLS asks for."""
    workers: int | None = None
    """None: one for every processor."""
    resume: bool = True
    """False: remove finished points of the folder first."""
    watching: Callable[[int, int], AbstractContextManager[Tell]] | None = None
    """Called with the number of all and of finished points; yields the progress callback."""
    say: Callable[[str], None] = print


def sweep(planned: PlannedSweep, folder: Path, how: SweepExecution) -> Sweep:
    """Compute all unfinished points; the dataset in `folder` is complete at any moment."""
    if how.workers is not None and how.workers < 1:
        raise CommandError(f"--workers must be 1 or more, not {how.workers}")
    if how.scheduler is not None and how.workers is not None:
        raise CommandError(
            "--workers starts workers here, and a --scheduler has its own: use one of both"
        )
    if how.scheduler is None:
        check_here(planned)
    dataset = Dataset(folder)
    dataset.open()
    try:
        if not how.resume:
            dataset.forget()
        recover(dataset.folder, lambda count: how.say(_still(count)))
        stored = dataset.finished()
        dataset.write_plan(planned.matrix)
        finished = stored & set(planned.matrix.points)
        record = _record(planned, dataset, finished, len(stored) - len(finished))
        save(record, dataset.folder / HEAD)
        try:
            if len(finished) < len(planned.matrix.points):
                _compute(planned, dataset, finished, record, how)
            record.ended = "done"
        except NearfarError as error:
            record.ended = str(error)
            raise
        finally:
            save(record, dataset.folder / HEAD)
        return record
    finally:
        dataset.close()


def _compute(
    planned: PlannedSweep, dataset: Dataset, finished: set[str], record: Sweep, how: SweepExecution
) -> None:
    points = planned.matrix.points
    left = len(points) - len(finished)
    measured = any(point.measured and point.id not in finished for point in points.values())
    if how.scheduler is None:
        count = min(how.workers or processors(), left)
        opened = local_cluster(count)
        where = format_count(count, "worker")
    else:
        opened = existing_cluster(how.scheduler, how.tls)
        where = f"workers of {how.scheduler}"
    how.say(f"{format_count(left, 'point')} to compute, {len(finished):,} finished, {where}")
    if how.scheduler is not None and (warning := open_to_all(how.scheduler)):
        how.say(warning)
    before = len(finished)
    watching = how.watching or (lambda *_: contextlib.nullcontext(lambda *_: None))
    with opened as client:
        check_workers(client, planned.matrix.versions, measured=measured)
        record.workers = len(client.scheduler_info(n_workers=-1)["workers"])
        dispatcher = Dispatcher(client, dataset, planned.matrix, planned.inputs, finished)
        begun = time.monotonic()
        try:
            with watching(len(points), before) as tell:
                dispatcher.run(tell)
        except KeyboardInterrupt:
            record.ended = "interrupted"
            raise
        finally:
            _fill(record, dispatcher, planned, before, time.monotonic() - begun)


def _fill(
    record: Sweep, dispatcher: Dispatcher, planned: PlannedSweep, before: int, seconds: float
) -> None:
    outcome, points = dispatcher.outcome, planned.matrix.points
    record.finished_now = len(outcome.finished) - before
    record.failed = [
        FailedPoint(
            point=name,
            kind=points[name].kind,
            parameters=points[name].parameters.decode(),
            error=text,
        )
        for name, text in sorted(outcome.failed.items())
    ]
    record.not_tried = len(points) - len(outcome.finished) - len(outcome.failed)
    record.seconds = seconds
    if outcome.computed and not any(point.measured for point in points.values()):
        spare = seconds * record.workers - outcome.seconds_in_points
        record.overhead_ms_per_point = spare / outcome.computed * 1e3


def _record(planned: PlannedSweep, dataset: Dataset, finished: set[str], others: int) -> Sweep:
    return Sweep(
        producer=producer(),
        file=str(planned.file),
        text=planned.text,
        dataset=os.path.relpath(dataset.folder / "results"),
        versions=planned.matrix.versions,
        points=dict(Counter(point.kind for point in planned.matrix.points.values())),
        finished_before=len(finished),
        finished_now=0,
        failed=[],
        of_other_versions=others,
    )


def _still(count: int) -> str:
    return (
        f"workers of a sweep that was killed still compute {count} batches of points: waiting for "
        "them"
    )

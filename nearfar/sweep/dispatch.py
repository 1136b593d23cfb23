"""Keep workers busy until no point is left, even if workers die.

A batch takes about two seconds; points of one kind take similar times. The first batch of each kind
has one point, whose time is measured. Batches shrink with the number of remaining points, so that
at the end no worker computes a long batch while the others are idle.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any

import distributed
import msgspec
from distributed.comm.core import CommClosedError

from nearfar.base.digest import digest_of
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.points.inputs import POINT, PointInputs
from nearfar.sweep.batch import BatchOrder, BatchResult, run_batch
from nearfar.sweep.cluster import MACHINE
from nearfar.sweep.dataset import Dataset, part_path, write_part
from nearfar.sweep.expand import Matrix, SweepPoint
from nearfar.sweep.journal import kept

CLOSED = (CommClosedError, CancelledError)
"""Errors of a future, or of an order, whose scheduler has ended meanwhile."""

BATCH_S = 2.0
"""Work in a batch: a task costs the scheduler about 1 ms, and running batches report late."""

MAX_POINTS = 500
"""Points in a batch, which a killed worker on another host, without a journal here, loses."""

MIN_BATCHES_PER_WORKER = 4
"""Batches per worker into which the remaining points are divided at least."""


class Queue:
    """Points of one sweep that are not finished."""

    def __init__(self, points: Iterable[SweepPoint], finished: set[str], threads: int) -> None:
        self._ready: dict[str, deque[SweepPoint]] = {}
        self._waiting: dict[str, list[SweepPoint]] = {}
        self._suspects: deque[SweepPoint] = deque()
        self._time_by_kind: dict[str, tuple[float, int]] = {}
        self.threads = threads
        self.finished = finished
        for point in points:
            if point.id not in finished:
                self._enqueue(point)

    def _enqueue(self, point: SweepPoint) -> None:
        needed = [name.removeprefix(POINT) for name in point.needs if name.startswith(POINT)]
        missing = next((name for name in needed if name not in self.finished), None)
        if missing is not None:
            self._waiting.setdefault(missing, []).append(point)
        else:
            self._ready.setdefault(point.kind, deque()).append(point)

    def suspect(self, point: SweepPoint) -> None:
        """Add a point that was lost with its worker and may have killed it."""
        self._suspects.append(point)

    def suspects(self) -> int:
        """Return the number of points that must run alone."""
        return len(self._suspects)

    def next_suspect(self) -> SweepPoint:
        """Remove and return the next point that must run alone."""
        return self._suspects.popleft()

    def next(self, *, measured: bool) -> list[SweepPoint]:
        """Return the next batch, of measured or of computed points; empty: no point is ready."""
        for kind, points in self._ready.items():
            if not points or points[0].measured != measured:
                continue
            count = 1 if measured else self._size(kind, len(points))
            return [points.popleft() for _ in range(count)]
        return []

    def _size(self, kind: str, left: int) -> int:
        seconds, computed = self._time_by_kind.get(kind, (0.0, 0))
        if not computed:
            return 1
        wanted = BATCH_S / max(seconds / computed, 1e-6)
        return max(
            1, min(int(wanted), MAX_POINTS, -(-left // (MIN_BATCHES_PER_WORKER * self.threads)))
        )

    def learn(self, kind: str, seconds: float, computed: int) -> None:
        """Record the time of a batch of this kind."""
        before = self._time_by_kind.get(kind, (0.0, 0))
        self._time_by_kind[kind] = (before[0] + seconds, before[1] + computed)

    def finish(self, points: Iterable[str]) -> None:
        """Record finished points; points that waited for them are ready."""
        for name in points:
            self.finished.add(name)
            for waiting in self._waiting.pop(name, []):
                self._enqueue(waiting)

    def never(self, point: str) -> list[SweepPoint]:
        """Remove and return the points that wait for a failed point."""
        return self._waiting.pop(point, [])

    def seconds_left(self, machines: int) -> float | None:
        """Return the expected time of all ready points, s; None: a kind's time is unknown."""
        total = 0.0
        for kind, points in self._ready.items():
            if not points:
                continue
            seconds, computed = self._time_by_kind.get(kind, (0.0, 0))
            if not computed:
                return None
            at_once = machines if points[0].measured else self.threads
            total += len(points) * seconds / computed / max(at_once, 1)
        return total


def batch_id(points: Iterable[SweepPoint]) -> str:
    """Return the name of a batch, which depends on its points only."""
    return digest_of("".join(point.id for point in points).encode())


SMALL_BYTES = 1 << 16
"""Most bytes of an input that is sent with each batch: most devices, and no profile of a large
program."""

BATCHES_PER_THREAD = 2
"""Batches given to each worker thread: one that it computes, one that waits."""

POLL_S = 1.0
"""Time between checks that the scheduler answers."""

COUNT_S = 5.0
"""Time between counts of the workers."""

MAX_ALONE_S = 120.0
"""Time without workers after which a sweep ends: a cluster that starts workers as jobs may have
none for a while."""

MAX_SILENCE_S = 15.0
"""Time without an answer after which the scheduler counts as gone; Dask's own limit is 10 s."""


DASK: Any = distributed
"""Dask, which has no types."""


@dataclass
class SweepOutcome:
    """Finished and failed points."""

    finished: set[str]
    failed: dict[str, str] = field(default_factory=dict)
    not_tried: int = 0
    seconds_in_points: float = 0.0
    computed: int = 0


@dataclass
class _RunningBatch:
    """A batch that a worker has."""

    points: list[SweepPoint]
    future: Any


class Dispatcher:
    """One run of one sweep."""

    def __init__(
        self, client: Any, dataset: Dataset, matrix: Matrix, inputs: PointInputs, finished: set[str]
    ) -> None:
        self._client, self._dataset, self._matrix, self._inputs = client, dataset, matrix, inputs
        self._running: dict[str, _RunningBatch] = {}
        self._sent: dict[str, Any] = {}
        self._digests: dict[str, str] = {}
        self.outcome = SweepOutcome(finished)
        self._machines = 1
        self._queue = Queue(matrix.points.values(), finished, 1)
        self._silent_s = 0.0
        self._orders = 0
        self._ran_alone: set[str] = set()
        self._counted = 0.0
        self._last_worker_s = 0.0

    def run(self, tell: Callable[[int, int, float | None], None]) -> None:
        """Compute all points; raise NearfarError if the scheduler is gone.

        `tell` receives the numbers of finished and of failed points, and the remaining seconds.
        """
        self._last_worker_s = time.monotonic()
        try:
            while self._submit_and_wait():
                done = self.outcome
                left = self._queue.seconds_left(self._machines)
                tell(len(done.finished), len(done.failed), left)
        except NearfarError:
            raise
        except Exception as error:  # a closed connection raises errors of several libraries
            if isinstance(error, CLOSED) or self._client.status != "running":
                self._raise_if_gone(error)
            raise

    def _submit_and_wait(self) -> bool:
        """Submit batches to free workers and wait for a result; False: no batch is left."""
        self._count_workers()
        self._submit_batches()
        if self._running:
            self._wait()
            return True
        return False

    def _count_workers(self) -> None:
        """Count the workers every `COUNT_S`: a cluster may start or end workers meanwhile."""
        now = time.monotonic()
        if now - self._counted < COUNT_S:
            return
        self._counted = now
        try:
            info = self._client.scheduler_info(n_workers=-1)["workers"].values()
        except Exception as error:  # a closed connection raises errors of several libraries
            self._raise_if_gone(error)
            return
        if not info and now - self._last_worker_s > MAX_ALONE_S:
            raise NearfarError(
                f"the scheduler has had no worker for {MAX_ALONE_S:g} s; finished points are "
                "kept, and the same command continues",
                ExitCode.MACHINE_LACKS,
            )
        if info:
            self._last_worker_s = now
            self._queue.threads = sum(worker["nthreads"] for worker in info)
            self._machines = sum(MACHINE in worker.get("resources", {}) for worker in info) or 1

    def _submit_batches(self) -> None:
        if self._queue.suspects():
            # Dask blames all tasks of a dead worker: only a point that ran alone is the cause.
            if not self._running:
                point = self._queue.next_suspect()
                self._ran_alone.add(point.id)
                self._submit_batch([point], measured=point.measured)
            return
        under = {True: 0, False: 0}
        for running in self._running.values():
            under[running.points[0].measured] += 1
        most = {
            True: BATCHES_PER_THREAD * self._machines,
            False: BATCHES_PER_THREAD * self._queue.threads,
        }
        for measured in (True, False):
            while under[measured] < most[measured]:
                points = self._queue.next(measured=measured)
                if not points:
                    break
                self._submit_batch(points, measured=measured)
                under[measured] += 1

    def _submit_batch(self, points: list[SweepPoint], *, measured: bool) -> None:
        names = sorted({name for point in points for name in point.needs})
        contents = {name: self._input(name) for name in names}
        batch = batch_id(points)
        order = BatchOrder(
            batch=batch,
            points=[(point.id, point.kind, point.parameters) for point in points],
            measured=measured,
            versions={point.kind: self._matrix.versions[point.kind] for point in points},
            digests={name: self._digests[name] for name in names},
            folder=str(self._dataset.folder),
            token=self._dataset.token,
        )
        self._orders += 1
        future = self._client.submit(
            run_batch,
            msgspec.msgpack.encode(order),
            contents,
            # Each try needs a new key: for a known key, Dask would return the old result.
            key=f"nearfar-{batch}-{self._dataset.token}-{self._orders}",
            pure=False,
            priority=1 if measured else 0,
            resources={MACHINE: 1} if measured else None,
        )
        self._running[batch] = _RunningBatch(points, future)

    def _input(self, name: str) -> Any:
        """Return the input if it is small, else the future of a task that returns it.

        A future survives a worker's death, but other workers have to connect to the one that has
        it, and wait.
        """
        if name not in self._sent:
            if name.startswith(POINT):
                content = self._dataset.document(name.removeprefix(POINT)).read_bytes()
                digest = digest_of(content)
            else:
                content, digest = self._inputs.text(name), self._inputs.digest(name)
            self._digests[name] = digest
            self._sent[name] = (
                content
                if len(content) <= SMALL_BYTES
                else self._client.submit(bytes, content, key=f"nearfar-input-{digest}")
            )
        return self._sent[name]

    def _wait(self) -> None:
        futures = [running.future for running in self._running.values()]
        try:
            DASK.wait(futures, timeout=POLL_S, return_when="FIRST_COMPLETED")
        except TimeoutError:
            pass
        except Exception as error:  # CancelledError and what a closed client raises
            self._raise_if_gone(error)
        for batch, running in list(self._running.items()):
            if running.future.status in ("finished", "error"):
                del self._running[batch]
                self._collect(batch, running)
            elif running.future.status in ("cancelled", "lost"):
                self._raise_if_gone(None)
        if self._client.status == "running":
            self._silent_s = 0.0
        else:
            self._silent_s += POLL_S
            self._raise_if_gone(None, patient=True)

    def _raise_if_gone(self, error: BaseException | None, *, patient: bool = False) -> None:
        if patient and self._silent_s < MAX_SILENCE_S:
            return
        raise NearfarError(
            "the scheduler is gone; finished points are kept, and the same command continues",
            ExitCode.MACHINE_LACKS,
        ) from error

    def _collect(self, batch: str, running: _RunningBatch) -> None:
        if running.future.status == "error":
            self._handle_failed_task(batch, running, running.future.exception())
            return
        answer = msgspec.msgpack.decode(running.future.result(), type=BatchResult)
        if answer.refused:
            raise NearfarError(answer.refused, ExitCode.MACHINE_LACKS)
        for point, document in answer.documents.items():
            self._dataset.document(point).write_bytes(document)
        if answer.rows:
            write_part(part_path(self._dataset.folder, batch), answer.rows)
        if answer.computed:
            self._queue.learn(running.points[0].kind, answer.seconds, answer.computed)
        self.outcome.seconds_in_points += answer.seconds
        self.outcome.computed += answer.computed
        self._queue.finish(answer.finished)
        for point, text in answer.errors.items():
            self._fail(point, text)

    def _fail(self, point: str, text: str) -> None:
        self.outcome.failed[point] = text
        self.outcome.not_tried += len(self._queue.never(point))

    def _handle_failed_task(self, batch: str, running: _RunningBatch, error: BaseException) -> None:
        """Handle a batch whose task failed, usually because its workers died.

        Stored points are finished. If no worker died, the other points fail. Otherwise each runs
        again alone, or fails if it ran alone before.
        """
        stored = kept(self._dataset.folder, batch)
        self._queue.finish(point.id for point in running.points if point.id in stored)
        left = [point for point in running.points if point.id not in stored]
        if type(error).__name__ != "KilledWorker":
            for point in left:
                self._fail(point.id, f"{type(error).__name__}: {error}")
            return
        for point in left:
            if point.id in self._ran_alone:
                self._fail(
                    point.id, "its worker was killed each time, perhaps because memory ran out"
                )
            else:
                self._queue.suspect(point)

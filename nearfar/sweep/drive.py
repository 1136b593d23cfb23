"""Keeps workers busy until no point is left, and survives what happens to them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.points.inputs import POINT, PointInputs, digest_of
from nearfar.sweep.batch import BatchOrder, BatchResult, run_batch
from nearfar.sweep.cluster import MACHINE
from nearfar.sweep.dataset import Dataset, part_path, write_part
from nearfar.sweep.expand import Matrix, SweepPoint
from nearfar.sweep.journal import kept
from nearfar.sweep.queue import Queue, batch_id

AHEAD = 2
"""Batches under way for every worker thread: one that it computes, one that waits for its end."""

LOOK_S = 1.0
"""Between looks at whether the scheduler is there."""

COUNT_S = 5.0
"""Between looks at how many workers there are."""

ALONE_S = 120.0
"""A cluster that starts workers as jobs may have none for a while; longer, somebody should look."""

GONE_S = 15.0
"""A scheduler that is silent for so long is gone: Dask's own clients give up after 10 s."""


@dataclass
class SweepOutcome:
    """What became of the points."""

    finished: set[str]
    failed: dict[str, str] = field(default_factory=dict)
    not_tried: int = 0
    seconds_in_points: float = 0.0
    computed: int = 0


@dataclass
class _Under:
    """A batch under way."""

    points: list[SweepPoint]
    future: Any


class Driver:
    """One run of one sweep."""

    def __init__(
        self, client: Any, dataset: Dataset, matrix: Matrix, inputs: PointInputs, finished: set[str]
    ) -> None:
        self._client, self._dataset, self._matrix, self._inputs = client, dataset, matrix, inputs
        self._under: dict[str, _Under] = {}
        self._held: dict[str, Any] = {}
        self._digests: dict[str, str] = {}
        self.outcome = SweepOutcome(finished)
        self._machines = 1
        self._queue = Queue(matrix.points.values(), finished, 1)
        self._silent_s = 0.0
        self._orders = 0
        self._alone: set[str] = set()
        self._counted = 0.0
        self._seen = 0.0

    def run(self, tell: Callable[[int, int, float | None], None]) -> None:
        """Compute everything; raises NearfarError if the scheduler goes.

        `tell` gets points finished, points failed, and the seconds that are left.
        """
        self._seen = time.monotonic()
        while True:
            self._count_workers()
            self._fill()
            if not self._under:
                break
            self._wait()
            done = self.outcome
            left = self._queue.seconds_left(self._machines)
            tell(len(done.finished), len(done.failed), left)

    def _count_workers(self) -> None:
        """Look again, now and then, who computes: workers of a cluster come and go."""
        now = time.monotonic()
        if now - self._counted < COUNT_S:
            return
        self._counted = now
        try:
            info = self._client.scheduler_info(n_workers=-1)["workers"].values()
        except Exception as error:  # what a connection that was closed raises, of several libraries
            self._check_there(error)
            return
        if not info and now - self._seen > ALONE_S:
            raise NearfarError(
                f"the scheduler has had no worker for {ALONE_S:g} s; what was finished is kept, "
                "and the same command goes on from there",
                ExitCode.MACHINE_LACKS,
            )
        if info:
            self._seen = now
            self._queue.threads = sum(one["nthreads"] for one in info)
            self._machines = sum(MACHINE in one.get("resources", {}) for one in info) or 1

    def _fill(self) -> None:
        if self._queue.suspects():
            # Dask suspects all that a dead worker was given: only what runs by itself is sure.
            if not self._under:
                point = self._queue.next_suspect()
                self._alone.add(point.id)
                self._order([point], measured=point.measured)
            return
        under = {True: 0, False: 0}
        for one in self._under.values():
            under[one.points[0].measured] += 1
        most = {True: AHEAD * self._machines, False: AHEAD * self._queue.threads}
        for measured in (True, False):
            while under[measured] < most[measured]:
                points = self._queue.next(measured=measured)
                if not points:
                    break
                self._order(points, measured=measured)
                under[measured] += 1

    def _order(self, points: list[SweepPoint], *, measured: bool) -> None:
        names = sorted({name for point in points for name in point.needs})
        contents = {name: self._hold(name) for name in names}
        batch = batch_id(points)
        order = BatchOrder(
            batch=batch,
            points=[(one.id, one.kind, one.parameters) for one in points],
            measured=measured,
            versions={one.kind: self._matrix.versions[one.kind] for one in points},
            digests={name: self._digests[name] for name in names},
            folder=str(self._dataset.folder),
            token=self._dataset.token,
        )
        self._orders += 1
        future = self._client.submit(
            run_batch,
            msgspec.msgpack.encode(order),
            contents,
            # A key of its own for every try: Dask would answer with what the last one came to.
            key=f"nearfar-{batch}-{self._dataset.token}-{self._orders}",
            pure=False,
            priority=1 if measured else 0,
            resources={MACHINE: 1} if measured else None,
        )
        self._under[batch] = _Under(points, future)

    def _hold(self, name: str) -> Any:
        """Return the future of an input: a task that gives it, so no worker's death loses it."""
        if name not in self._held:
            if name.startswith(POINT):
                content = self._dataset.document(name.removeprefix(POINT)).read_bytes()
                digest = digest_of(content)
            else:
                content, digest = self._inputs.text(name), self._inputs.digest(name)
            self._digests[name] = digest
            self._held[name] = self._client.submit(bytes, content, key=f"nearfar-input-{digest}")
        return self._held[name]

    def _wait(self) -> None:
        import distributed

        dask: Any = distributed  # it has no types

        futures = [one.future for one in self._under.values()]
        try:
            dask.wait(futures, timeout=LOOK_S, return_when="FIRST_COMPLETED")
        except TimeoutError:
            pass
        except Exception as error:  # CancelledError and what a closed client raises
            self._check_there(error)
        for batch, one in list(self._under.items()):
            if one.future.status in ("finished", "error"):
                del self._under[batch]
                self._take(batch, one)
            elif one.future.status in ("cancelled", "lost"):
                self._check_there(None)
        if self._client.status == "running":
            self._silent_s = 0.0
        else:
            self._silent_s += LOOK_S
            self._check_there(None, patient=True)

    def _check_there(self, error: BaseException | None, *, patient: bool = False) -> None:
        if patient and self._silent_s < GONE_S:
            return
        raise NearfarError(
            "the scheduler is gone; what was finished is kept, and the same command goes on from "
            "there",
            ExitCode.MACHINE_LACKS,
        ) from error

    def _take(self, batch: str, one: _Under) -> None:
        if one.future.status == "error":
            self._lost(batch, one, one.future.exception())
            return
        answer = msgspec.msgpack.decode(one.future.result(), type=BatchResult)
        if answer.refused:
            raise NearfarError(answer.refused, ExitCode.MACHINE_LACKS)
        for point, document in answer.documents.items():
            self._dataset.document(point).write_bytes(document)
        if answer.rows:
            write_part(part_path(self._dataset.folder, batch), answer.rows)
        if answer.computed:
            self._queue.learn(one.points[0].kind, answer.seconds, answer.computed)
        self.outcome.seconds_in_points += answer.seconds
        self.outcome.computed += answer.computed
        self._queue.finish(answer.finished)
        for point, text in answer.errors.items():
            self._fail(point, text)

    def _fail(self, point: str, text: str) -> None:
        self.outcome.failed[point] = text
        self.outcome.not_tried += len(self._queue.never(point))

    def _lost(self, batch: str, one: _Under, error: BaseException) -> None:
        """Take points whose batch ended otherwise: with its worker, several times over."""
        stored = kept(self._dataset.folder, batch)
        self._queue.finish(point.id for point in one.points if point.id in stored)
        left = [point for point in one.points if point.id not in stored]
        if type(error).__name__ != "KilledWorker":
            for point in left:
                self._fail(point.id, f"{type(error).__name__}: {error}")
            return
        for point in left:
            if point.id in self._alone:
                self._fail(point.id, "its worker was killed each time, perhaps for want of memory")
            else:
                self._queue.suspect(point)

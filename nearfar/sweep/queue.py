"""Choose the points of the next batch: few at first and at the end, about two seconds between.

Points of a kind take about as long as each other; of two batches that end a sweep, the longer one
keeps a worker busy while the others idle, so batches shrink with the remaining points.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from nearfar.points.inputs import POINT, digest_of
from nearfar.sweep.expand import SweepPoint

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
        self._alone: deque[SweepPoint] = deque()
        self._spent: dict[str, tuple[float, int]] = {}
        self.threads = threads
        self.finished = finished
        for point in points:
            if point.id not in finished:
                self._put(point)

    def _put(self, point: SweepPoint) -> None:
        asked = [name.removeprefix(POINT) for name in point.needs if name.startswith(POINT)]
        missing = next((name for name in asked if name not in self.finished), None)
        if missing is not None:
            self._waiting.setdefault(missing, []).append(point)
        else:
            self._ready.setdefault(point.kind, deque()).append(point)

    def suspect(self, point: SweepPoint) -> None:
        """Add a point that was lost with its worker, and may be the reason."""
        self._alone.append(point)

    def suspects(self) -> int:
        """Return how many points are to run alone."""
        return len(self._alone)

    def next_suspect(self) -> SweepPoint:
        """Return one of them."""
        return self._alone.popleft()

    def next(self, *, measured: bool) -> list[SweepPoint]:
        """Return the next batch, of measured points or of others; empty: there is none now."""
        for kind, points in self._ready.items():
            if not points or points[0].measured != measured:
                continue
            count = 1 if measured else self._size(kind, len(points))
            return [points.popleft() for _ in range(count)]
        return []

    def _size(self, kind: str, left: int) -> int:
        seconds, computed = self._spent.get(kind, (0.0, 0))
        if not computed:
            return 1
        wanted = BATCH_S / max(seconds / computed, 1e-6)
        return max(
            1, min(int(wanted), MAX_POINTS, -(-left // (MIN_BATCHES_PER_WORKER * self.threads)))
        )

    def learn(self, kind: str, seconds: float, computed: int) -> None:
        """Record the time of a batch of this kind."""
        before = self._spent.get(kind, (0.0, 0))
        self._spent[kind] = (before[0] + seconds, before[1] + computed)

    def finish(self, points: Iterable[str]) -> None:
        """Record finished points; points that waited for them are ready."""
        for name in points:
            self.finished.add(name)
            for waiting in self._waiting.pop(name, []):
                self._put(waiting)

    def never(self, point: str) -> list[SweepPoint]:
        """Remove and return the points that wait for a failed point."""
        return self._waiting.pop(point, [])

    def seconds_left(self, machines: int) -> float | None:
        """Return the time of the points that are ready; None: unknown for a kind."""
        total = 0.0
        for kind, points in self._ready.items():
            if not points:
                continue
            seconds, computed = self._spent.get(kind, (0.0, 0))
            if not computed:
                return None
            at_once = machines if points[0].measured else self.threads
            total += len(points) * seconds / computed / max(at_once, 1)
        return total


def batch_id(points: Iterable[SweepPoint]) -> str:
    """Return the name of a batch: of the same points, the same."""
    return digest_of("".join(point.id for point in points).encode())

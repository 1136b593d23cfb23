"""A subject that stores every sample, and first returns those of an earlier run.

All parts sample through this subject, so Ctrl-C loses nothing and ``--resume`` repeats nothing: a
resumed part requests the same points in the same order, and gets them from the store.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from nearfar.measure.settings import ignore
from nearfar.measure.subject import Subject, SubjectFacts
from nearfar.samples.point import Sample, SamplePoint
from nearfar.samples.store import SampleStore

MAX_REPLAYED_BYTES = 512 << 20
"""Most bytes of single accesses' times that are loaded from an earlier run; samples beyond this are
measured again."""


class Recorder:
    """A subject that records another."""

    def __init__(
        self,
        subject: Subject,
        store: SampleStore | None,
        seen: Callable[[SamplePoint, Sample], None] = ignore,
    ) -> None:
        self._subject = subject
        self._seen = seen
        self._store = store
        self._earlier: dict[SamplePoint, deque[Sample]] = {}
        self.taken = 0
        """Samples measured by this process."""
        self.replayed = 0
        """Samples that came from the store."""
        if store is not None:
            held = 0
            for record in store.records():
                each = record.sample.each_ns
                held += each.nbytes if each is not None else 0
                if held > MAX_REPLAYED_BYTES and each is not None:
                    continue
                self._earlier.setdefault(record.point, deque()).append(record.sample)

    def facts(self) -> SubjectFacts:
        """Return the subject's."""
        return self._subject.facts()

    def sample(self, point: SamplePoint) -> Sample:
        """Return the earlier run's next sample of `point`; if none is left, measure and store."""
        if earlier := self._earlier.get(point):
            self.replayed += 1
            return earlier.popleft()
        sample = self._subject.sample(point)
        self.taken += 1
        if self._store is not None:
            self._store.append(point, sample)
        self._seen(point, sample)
        return sample

    def earlier(self, points: Iterable[SamplePoint]) -> dict[SamplePoint, list[Sample]]:
        """Remove and return all samples of `points` from the earlier run."""
        samples_by_point = {point: list(self._earlier.pop(point, ())) for point in points}
        self.replayed += sum(len(samples) for samples in samples_by_point.values())
        return samples_by_point

    def __getattr__(self, name: str) -> Any:
        # Attributes that only one kind of subject has (`cpus`, `clock`).
        return getattr(self._subject, name)

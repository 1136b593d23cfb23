"""STREAM's kernels on a memory of the library: bandwidths without data to validate."""

from __future__ import annotations

from nearfar.measure.open_subject import open_memory
from nearfar.measure.subject import Subject
from nearfar.options.measure import MemoryOptions
from nearfar.samples.point import SamplePoint
from nearfar_like.stream.arrays import StreamFunction


class ModelArrays:
    """A model's threads and bandwidth buffer."""

    verdict = "Not validated: a model holds no data"

    def __init__(self, name: str, threads: int | None, subject: Subject | None = None) -> None:
        """Open the model called `name`, or take `subject`."""
        if subject is None:
            subject = open_memory(MemoryOptions(memory=name, threads=threads)).subject
        self._subject = subject
        self._facts = subject.facts()
        self.threads = threads or self._facts.threads
        self.llc_bytes = self._facts.llc_bytes
        self.notes = [f"Memory is {name}, simulated"]

    def prepare(self, elements: int) -> int:
        """Return `elements`: a model has space for any number."""
        return elements

    def fill(self, function: StreamFunction) -> None:
        """Do nothing: there is no data."""

    def gb_per_s(self, function: StreamFunction) -> float:
        """Sample the kernel's bandwidth."""
        point = SamplePoint(
            "bandwidth",
            function.kernel,
            self._facts.page_sizes[0],
            self._facts.buffer_bytes,
            threads=self.threads,
        )
        return self._subject.sample(point).value

    def wrong(self, function: StreamFunction) -> list[str]:
        """Return nothing: there is no data."""
        return []

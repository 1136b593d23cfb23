"""Shared parts of the probers: samples of a point, region sizes, tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from nearfar.measure.subject import Subject, SubjectFacts
from nearfar.samples.point import Sample, SamplePoint
from nearfar_like.noise import RunNoise


@dataclass
class LensProbe:
    """A subject and the settings of its probers."""

    subject: Subject
    facts: SubjectFacts
    largest_bytes: int
    rounds: int
    writes: int
    say: Callable[[str], None]
    noise: RunNoise
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Print once what could not be probed."""
        if text not in self.notes:
            self.notes.append(text)
            self.say(f"*** {text}")

    def has(self, kernel: str, what: str) -> bool:
        """Return whether the kernel exists; if not, print what is omitted."""
        if kernel in self.facts.kernels:
            return True
        self.note(f"{what} is left out: there is no kernel {kernel} here")
        return False

    def value(self, point: SamplePoint) -> float:
        """Return the median of `rounds` samples."""
        self.noise.next()
        values = [self.subject.sample(point).value for _ in range(self.rounds)]
        unit = "gb_per_s" if point.figure == "bandwidth" else "ns"
        self.noise.value(_name(point), values, unit)
        return median(values)

    def sample(self, point: SamplePoint) -> Sample:
        """Return one sample."""
        return self.subject.sample(point)

    @property
    def page_bytes(self) -> int:
        """Size of the largest pages, bytes: probers measure the device, not the TLB."""
        return self.facts.page_sizes[0]

    def regions(self, smallest_bytes: int, step: int = 2) -> list[int]:
        """Return sizes from `smallest_bytes` to the largest, each `step` times the one before."""
        sizes = []
        size = smallest_bytes
        while size < self.largest_bytes:
            sizes.append(size)
            size *= step
        return [*sizes, self.largest_bytes]

    def table(self, corner: str, columns: Sequence[str], width: int = 9) -> None:
        """Print the header of a table."""
        self.say(f"{corner:>10s}" + "".join(f"{column:>{width}s}" for column in columns))

    def row(
        self, name: str, values: Sequence[float | None], digits: int = 1, width: int = 9
    ) -> None:
        """Print a row; None: not measured."""
        cells = [
            f"{'-':>{width}s}" if value is None else f"{value:>{width}.{digits}f}"
            for value in values
        ]
        self.say(f"{name:>10s}" + "".join(cells))


def _name(point: SamplePoint) -> str:
    """Return the place of a value in the tables: kernel, region or threads, access or stride."""
    where = f"x{point.threads}" if point.figure == "bandwidth" else size_name(point.region_bytes)
    return f"{point.kernel} {where}, {size_name(point.stride_bytes or point.access_bytes)}"


def size_name(size_bytes: int) -> str:
    """Return a short form of a size: ``64``, ``4K``, ``16M``, ``1G``."""
    for shift, letter in ((30, "G"), (20, "M"), (10, "K")):
        if size_bytes >= 1 << shift:
            value = size_bytes / (1 << shift)
            return f"{value:.0f}{letter}" if value == int(value) else f"{value:.1f}{letter}"
    return str(size_bytes)

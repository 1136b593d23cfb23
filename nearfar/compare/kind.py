"""The interface of a kind of document that can be compared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar, cast

from nearfar.base.estimate import Estimate
from nearfar.base.registry import Registry
from nearfar.documents.attribution import Attribution
from nearfar.documents.header import Document, load

D = TypeVar("D", bound=Document)


def documents_in(folder: Path) -> list[Path]:
    """Return the JSON files of a folder, by name."""
    return sorted(path for path in folder.glob("*.json") if path.is_file())


def load_all(path: Path, document: type[D]) -> list[D]:
    """Read the document at `path`, or all of a folder."""
    return [load(file, document) for file in (documents_in(path) if path.is_dir() else [path])]


Worse = Literal["more", "less", "neither"]

Z95, Z90 = 1.959964, 1.644854
"""Half-widths of 95 % and 90 % intervals of the normal distribution, in standard deviations."""


@dataclass(frozen=True)
class ComparedValue:
    """A number of a document, which the other document has under the same family and name."""

    family: str
    name: str
    unit: str
    """ns, bytes, GB/s, "misses", "x" (a ratio)."""
    value: float
    worse: Worse = "more"
    samples: tuple[float, ...] = ()
    """Repetitions; `value` is their median."""
    sigma: float | None = None
    """Standard error of `value`; 0: it has no random error; None: see `samples`, or unknown."""
    repetitions: int | None = None
    """Repetitions that gave `sigma`; None: it is known well."""
    total: float | None = None
    """The sum that the value is a part of: a limit is on its share of that."""
    timed: bool = False
    """Whether it is a time, comparable only on one machine."""
    note: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Family and name, by which values are matched."""
        return self.family, self.name


def from_interval(estimate: Estimate, z: float) -> float:
    """Return the standard error of an estimate whose interval is +-`z` standard errors."""
    return (estimate.high - estimate.low) / (2.0 * z)


Pair = tuple[ComparedValue | None, ComparedValue | None]


@dataclass
class PairedValues:
    """Matched values of both sides, and warnings."""

    pairs: list[Pair] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class SideNames:
    """The names of the two sides in warnings."""

    a: str
    b: str


class ComparableKind(ABC, Generic[D]):
    """One kind of document."""

    document: ClassVar[type[Document]]

    def load(self, path: Path) -> list[D]:
        """Read a file, or every document of a folder."""
        return load_all(path, cast(type[D], self.document))

    @abstractmethod
    def values(self, documents: Sequence[D]) -> list[ComparedValue]:
        """Return the values of one side."""

    def warnings(self, a: Sequence[D], b: Sequence[D], names: SideNames) -> list[str]:
        """Return warnings about differences in how the two sides were made."""
        return []

    def attributions(
        self, a: Sequence[D], b: Sequence[D], names: SideNames
    ) -> tuple[list[Attribution], list[str]]:
        """Return which inputs make the sides differ, and warnings if the causes are unknown."""
        return [], []

    def paired(
        self, a: Sequence[D], b: Sequence[D], names: SideNames, *, edited: bool
    ) -> PairedValues:
        """Return the values of both, matched by their names."""
        return PairedValues(match(self.values(a), self.values(b)), self.warnings(a, b, names))


KINDS: Registry[type[ComparableKind[Any]]] = Registry(
    "nearfar.compare.kinds", "comparable document"
)


def match(a: Sequence[ComparedValue], b: Sequence[ComparedValue]) -> list[Pair]:
    """Return pairs of values with one name, in the order of A; None: this side lacks the value."""
    others = {value.key: value for value in b}
    pairs: list[Pair] = [(value, others.pop(value.key, None)) for value in a]
    return pairs + [(None, value) for value in others.values()]

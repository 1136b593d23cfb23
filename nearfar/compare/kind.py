"""The interface of a kind of document that can be compared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, cast

from nearfar.base.registry import Registry
from nearfar.compare.compared_value import ComparedValue
from nearfar.compare.files import D, load_all
from nearfar.documents.header import Document

Pair = tuple[ComparedValue | None, ComparedValue | None]


@dataclass
class Paired:
    """Matched values of both sides, and warnings."""

    pairs: list[Pair] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Names:
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

    def warnings(self, a: Sequence[D], b: Sequence[D], names: Names) -> list[str]:
        """Return warnings where the two sides are not alike."""
        return []

    def paired(self, a: Sequence[D], b: Sequence[D], names: Names, *, edited: bool) -> Paired:
        """Return the values of both, matched by their names."""
        return Paired(match(self.values(a), self.values(b)), self.warnings(a, b, names))


KINDS: Registry[type[ComparableKind[Any]]] = Registry(
    "nearfar.compare.kinds", "comparable document"
)


def match(a: Sequence[ComparedValue], b: Sequence[ComparedValue]) -> list[Pair]:
    """Return pairs of values with the same name, in the order of A; None: only one side has it."""
    others = {figure.key: figure for figure in b}
    pairs: list[Pair] = [(figure, others.pop(figure.key, None)) for figure in a]
    return pairs + [(None, figure) for figure in others.values()]

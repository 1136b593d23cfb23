"""Base class of models, and their register."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import ClassVar, TypeVar

from nearfar.base.errors import CommandError, nearest
from nearfar.crash.files.contents import SECTOR_BYTES, Damage
from nearfar.crash.files.log import LogKind
from nearfar.crash.files.operations import Operation

_PAGE_BYTES = 4096
STALE = 0xA5
"""Byte that represents the earlier content of new blocks: data of removed files."""


class FileSystem(ABC):
    """Order in which a file system makes operations durable."""

    name: ClassVar[str]
    journals_names: ClassVar[bool] = True
    """Whether a sync of a file also makes all changes of entries durable that precede the file's
    last change. Otherwise an entry is durable only when its folder is synced."""

    journals_data: ClassVar[bool] = False
    """Whether the journal contains data too."""

    @abstractmethod
    def precedes(self, early: Operation, late: Operation) -> bool:
        """Return whether `late` cannot survive without `early`, which came before it."""

    @abstractmethod
    def tears(self, operation: Operation) -> Iterator[Damage]:
        """Yield the possible remains of a write that is partly lost."""


_Model = TypeVar("_Model", bound=type[FileSystem])
_MODELS: dict[str, FileSystem] = {}


def register(model: _Model) -> _Model:
    """Add a model."""
    _MODELS[model.name] = model()
    return model


@cache
def _import_all() -> None:
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if not module.name.startswith("_"):
            importlib.import_module(f"{__package__}.{module.name}")


def models(names: str) -> list[FileSystem]:
    """Return the models with these names, separated by commas, or all."""
    _import_all()
    if names == "all":
        return list(_MODELS.values())
    chosen = []
    for name in names.split(","):
        if name not in _MODELS:
            raise CommandError(
                f"there is no model of a file system {name!r}{nearest(name, list(_MODELS))}; "
                f"--file-system takes {', '.join(_MODELS)} or all"
            )
        chosen.append(_MODELS[name])
    return chosen


def is_metadata(operation: Operation) -> bool:
    """Return whether the operation is metadata: it changes entries, sets a size or allocates."""
    return operation.names or operation.kind in (LogKind.TRUNCATE, LogKind.ALLOCATE)


def sector_tears(operation: Operation, *, sized: bool = False, fill: int = 0) -> Iterator[Damage]:
    """Yield the write with some sectors only: without the first or last, only these, or halves."""
    begin, end = operation.offset, operation.end
    first = (begin // SECTOR_BYTES + 1) * SECTOR_BYTES
    last = (end - 1) // SECTOR_BYTES * SECTOR_BYTES
    if first > last:
        return
    parts = {((begin, last),), ((first, end),), ((begin, first),), ((last, end),)}
    if last - first > 2 * SECTOR_BYTES:
        middle = (begin + end) // 2 // SECTOR_BYTES * SECTOR_BYTES
        parts |= {((begin, middle),), ((middle, end),)}
    for kept in sorted(parts):
        yield Damage(kept, sized=sized, fill=fill)


def page_prefixes(operation: Operation) -> Iterator[Damage]:
    """Yield the write up to the end of a page: its first, its middle and its last but one page."""
    begin, end = operation.offset, operation.end
    first = (begin // _PAGE_BYTES + 1) * _PAGE_BYTES
    last = (end - 1) // _PAGE_BYTES * _PAGE_BYTES
    for cut in sorted({first, (first + last) // 2 // _PAGE_BYTES * _PAGE_BYTES, last}):
        if begin < cut < end:
            yield Damage(((begin, cut),))

"""ext4 with data=ordered and delayed allocation, its default."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.crash.files.contents import Damage
from nearfar.crash.files.models._registry import (
    FileSystem,
    is_metadata,
    page_prefixes,
    register,
    sector_tears,
)
from nearfar.crash.files.operations import Operation


@register
class Ordered(FileSystem):
    """Metadata is journaled in order; new data of a file is written before the size that shows it.

    Data that overwrites allocated blocks is written at any time, in any order. With delayed
    allocation a file's new data may be missing although its later rename is durable, except when
    the rename replaces a file (auto_da_alloc, ext4(5)).
    """

    name = "ordered"

    def precedes(self, early: Operation, late: Operation) -> bool:
        """Return whether `late` cannot survive without `early`."""
        if is_metadata(early) and is_metadata(late):
            return True
        if late.names:
            return early.node == late.node and late.replaced is not None and not early.names
        if early.node != late.node or early.names:
            return False
        both_grow = early.extends and (late.extends or is_metadata(late))
        return both_grow or is_metadata(early) or (early.extends and late.offset < early.end)

    def tears(self, operation: Operation) -> Iterator[Damage]:
        """Yield pages in order for new data, sectors in any order for old."""
        yield from page_prefixes(operation) if operation.extends else sector_tears(operation)

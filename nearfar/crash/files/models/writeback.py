"""ext4 with data=writeback."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.crash.files.contents import Damage
from nearfar.crash.files.models._registry import (
    STALE,
    FileSystem,
    is_metadata,
    register,
    sector_tears,
)
from nearfar.crash.files.operations import Operation


@register
class Writeback(FileSystem):
    """Metadata is journaled in order, data is written at any time.

    A file may have its new size and, in place of the data, what its blocks held before.
    """

    name = "writeback"

    def precedes(self, early: Operation, late: Operation) -> bool:
        """Return whether `late` cannot survive without `early`."""
        if not is_metadata(early):
            return False
        return is_metadata(late) or (early.node == late.node and not early.names)

    def tears(self, operation: Operation) -> Iterator[Damage]:
        """Yield the size without data, and sectors in any order."""
        if operation.extends:
            yield Damage(sized=True, fill=STALE)
        yield from sector_tears(operation, sized=operation.extends, fill=STALE)

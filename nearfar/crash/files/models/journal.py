"""ext4 with data=journal."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.crash.files.contents import Damage
from nearfar.crash.files.models._registry import FileSystem, page_prefixes, register
from nearfar.crash.files.operations import Operation


@register
class DataJournal(FileSystem):
    """Data and metadata are journaled in order: the run up to some operation survives.

    Of the data of the last one only the first pages may be there.
    """

    name = "journal"
    journals_data = True

    def precedes(self, early: Operation, late: Operation) -> bool:
        """Return true: `late` cannot survive without any earlier operation."""
        return early.number < late.number

    def tears(self, operation: Operation) -> Iterator[Damage]:
        """Yield the remains of a partly lost write: its first page, its first two, and so on."""
        yield from page_prefixes(operation)

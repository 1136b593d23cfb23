"""The promises of POSIX alone, whatever the file system."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.crash.files.contents import Damage
from nearfar.crash.files.models._registry import FileSystem, register, sector_tears
from nearfar.crash.files.operations import Operation


@register
class Posix(FileSystem):
    """Only a sync orders anything, and an entry is durable only when its folder is synced.

    A rename is atomic. Operations on one entry, and on entries of one file, keep their order.
    A file may have its new size and zeros in place of the data.
    """

    name = "posix"
    journals_names = False

    def precedes(self, early: Operation, late: Operation) -> bool:
        """Return whether `late` cannot survive without `early`."""
        if not (early.names and late.names):
            return False
        entries = {(early.folder, early.name), (early.new_folder, early.new_name)}
        others = {(late.folder, late.name), (late.new_folder, late.new_name)}
        shared = {(folder, name) for folder, name in entries & others if name}
        return bool(shared) or early.node == late.node

    def tears(self, operation: Operation) -> Iterator[Damage]:
        """Yield the size without data, and sectors in any order."""
        if operation.extends:
            yield Damage(sized=True)
        yield from sector_tears(operation)
        if operation.extends:
            yield from sector_tears(operation, sized=True)

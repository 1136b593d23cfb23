"""The file in memory that every state is written into, one after the other."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.crash.layout import LINE_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Image:
    """A pool's file that is made whole again before each state: a checker may recover it."""

    def __init__(self, path: Path, size_bytes: int) -> None:
        self._path = path
        self._size_bytes = size_bytes
        self._map: mmap.mmap | None = None
        self._inode = 0
        self._empty = True

    def write(self, durable: bytearray, lines: Mapping[int, bytes]) -> None:
        """Have the file hold `durable` (of the size of whole pages) with `lines` changed."""
        import numpy as np

        mapped = self._mapped()
        held = np.frombuffer(mapped, np.uint8)
        wanted = np.frombuffer(durable, np.uint8)[: len(held)]
        if self._empty:
            _write_pages(held, wanted)
            self._empty = False
        elif not np.array_equal(held, wanted):
            held[:] = wanted
        del held, wanted  # they hold the mapping
        for offset, content in lines.items():
            end = min(offset + LINE_BYTES, self._size_bytes)
            mapped[offset:end] = content[: end - offset]

    def close(self) -> None:
        """Remove the file."""
        if self._map is not None:
            self._map.close()
            self._map = None
        self._path.unlink(missing_ok=True)

    def _mapped(self) -> mmap.mmap:
        """Return the file's mapping; of a new file if the checker removed or resized it."""
        try:
            status = self._path.stat()
            same = status.st_ino == self._inode and status.st_size == self._size_bytes
        except FileNotFoundError:
            same = False
        if self._map is not None and same:
            return self._map
        self.close()
        with self._path.open("wb+") as file:
            file.truncate(self._size_bytes)
            self._map = mmap.mmap(file.fileno(), self._size_bytes)
        self._inode = self._path.stat().st_ino
        self._empty = True
        return self._map


def _write_pages(held: NDArray[np.uint8], wanted: NDArray[np.uint8]) -> None:
    """Copy what is not zero, so that a sparse pool's file stays sparse."""
    import numpy as np

    page = mmap.PAGESIZE
    for at in range(0, len(held), page):
        piece = wanted[at : at + page]
        if np.any(piece):
            held[at : at + page] = piece

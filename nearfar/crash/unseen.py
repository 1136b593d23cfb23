"""What the pool's file holds at the end and no store was seen to put there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from nearfar.base.units import LINE_BYTES, PAGE_BYTES
from nearfar.crash.lints.world import World

_MOST_BYTES = 1 << 28
"""Of a file that are compared; holes are not counted."""


def unseen(world: World, pool: Path) -> str:
    """Return a sentence about bytes that came by no way that is watched, or nothing.

    `world` has been fed the whole trace. Ways that are not watched: some system calls, other
    processes, a mapping that is not followed, what happens after the last unmapping.
    """
    first, count = -1, 0
    try:
        with pool.open("rb") as file:
            for offset, line in _lines(file.fileno()):
                if line != world.line(offset)[: len(line)]:
                    first = offset if first < 0 else first
                    count += 1
    except FileNotFoundError:
        return "the program removed its pool: what it held until then was explored"
    except OSError:
        return ""
    if count == 0:
        return ""
    return (
        f"the pool holds {count} lines, the first at {first:#x}, that no store was seen to put "
        "there (a system call that is not known, another process, after the last unmapping): they "
        "were not explored"
    )


def _lines(file: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not in its holes."""
    at, left = 0, _MOST_BYTES
    size = os.fstat(file).st_size
    while at < size and left > 0:
        try:
            at = os.lseek(file, at, os.SEEK_DATA)
        except OSError:
            return  # holes only
        end = os.lseek(file, at, os.SEEK_HOLE)
        for page in range(at - at % PAGE_BYTES, end, PAGE_BYTES):
            content = os.pread(file, PAGE_BYTES, page)
            for begin in range(0, len(content), LINE_BYTES):
                yield page + begin, content[begin : begin + LINE_BYTES]
        left -= end - at
        at = end

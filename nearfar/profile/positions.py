"""Positions of an object's large blocks, as native/base/positions.hpp gives them."""

from __future__ import annotations

from collections.abc import Iterable

from nearfar.base.units import PAGE_BYTES
from nearfar.profile.run_file import Records

MAX_HOLES = 16
"""Free ranges that are remembered; smaller ones are forgotten beyond that."""


def whole_pages(size_bytes: int) -> int:
    """Round a size down to whole pages, because allocators round it up by up to a page."""
    return size_bytes // PAGE_BYTES * PAGE_BYTES


class Positions:
    """First-fit positions of blocks."""

    def __init__(self) -> None:
        self.end = 0
        self._holes: list[tuple[int, int]] = []

    def take(self, size_bytes: int) -> int:
        """Return the position of a new block."""
        size_bytes = whole_pages(size_bytes)
        for at, (begin, end) in enumerate(self._holes):
            if end - begin >= size_bytes:
                rest = (begin + size_bytes, end)
                self._holes[at : at + 1] = [rest] if rest[0] < end else []
                return begin
        self.end += size_bytes
        return self.end - size_bytes

    def give(self, begin: int, size_bytes: int) -> None:
        """Free the positions of a block or of a part of one."""
        end = begin + whole_pages(size_bytes)
        near = [hole for hole in self._holes if hole[1] >= begin and hole[0] <= end]
        begin = min([begin, *(hole[0] for hole in near)])
        end = max([end, *(hole[1] for hole in near)])
        holes = [hole for hole in self._holes if hole not in near]
        if end >= self.end:
            self.end = min(self.end, begin)
        else:
            if len(holes) == MAX_HOLES:
                least = min(holes, key=lambda hole: hole[1] - hole[0])
                if least[1] - least[0] >= end - begin:
                    self._holes = holes
                    return
                holes.remove(least)
            holes.append((begin, end))
        self._holes = sorted(holes)


def positions_in_object(
    events: Records, sites: Iterable[int]
) -> dict[int, list[tuple[int, int, int]]]:
    """Return each site's blocks: position in the site, bytes, and position in the object.

    The object has all these sites; its blocks get positions in the order of the run.
    """
    wanted = set(sites)
    positions = Positions()
    alive: dict[tuple[int, int], int] = {}
    blocks: dict[int, list[tuple[int, int, int]]] = {site: [] for site in wanted}
    for event in events:
        site, position, size = int(event["site"]), int(event["position"]), int(event["bytes"])
        if site not in wanted:
            continue
        if event["freed"]:
            # A freed part that is not the beginning of a block keeps its positions.
            if (site, position) in alive:
                positions.give(alive.pop((site, position)), size)
            continue
        at = positions.take(size)
        alive[site, position] = at
        blocks[site].append((position, size, at))
    return blocks

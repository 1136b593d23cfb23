"""Movables of --adapt: an object with a target of its own, or one range of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from nearfar.run import layout
from nearfar.run.targets import Targets


class Movable(NamedTuple):
    """A target, and the number of its range: 0 for an object that is whole."""

    target: int
    range: int = 0


class Piece(NamedTuple):
    """Addresses of a movable in one process."""

    begin: int
    end: int
    movable: Movable


class Movables:
    """The movables of a run."""

    def __init__(self, targets: Targets) -> None:
        self._parts = {
            target: targets.shapes[target][1]
            for target in targets.moving.values()
            if targets.shapes[target][0] == layout.IN_RANGES
        }
        """Memory and end of each range of the objects in ranges, by target."""
        self._whole = set(targets.moving.values()) - self._parts.keys()
        self.memory_of = {
            Movable(target): targets.shapes[target][1][0][0] for target in self._whole
        }
        """Where the plan has each movable."""
        for target, parts in self._parts.items():
            for number, (memory, _) in enumerate(parts):
                self.memory_of[Movable(target, number)] = memory

    def of_target(self, target: int) -> Iterator[Movable]:
        """Yield the movables of a target."""
        for number in range(len(self._parts.get(target, [()]))):
            yield Movable(target, number)

    def positions(self, movable: Movable) -> tuple[int, int] | None:
        """Return where a range begins and ends in its object; None for a whole object."""
        parts = self._parts.get(movable.target)
        if parts is None:
            return None
        begin = parts[movable.range - 1][1] if movable.range else 0
        return begin, parts[movable.range][1]

    def pieces(self, state: layout.State) -> Iterator[Piece]:
        """Yield the addresses of all movables in a process, from the library's state."""
        for extent in state.extents[: min(state.extent_count, layout.EXTENTS)]:
            if extent.target in self._whole:
                yield Piece(extent.begin, extent.begin + extent.bytes, Movable(extent.target))
            elif extent.target in self._parts and extent.position != layout.NO_POSITION:
                yield from self._ranges(extent)

    def _ranges(self, extent: layout.Extent) -> Iterator[Piece]:
        """Divide an extent as the library does: by whole pages."""
        ends = [end for _, end in self._parts[extent.target]]
        begin, end, position = extent.begin, extent.begin + extent.bytes, extent.position
        while begin < end:
            number = min(bisect_right(ends, position), len(ends) - 1)
            size = end - begin
            if position < ends[number]:
                pages = max(1, round((ends[number] - position) / layout.PAGE))
                size = min(size, pages * layout.PAGE)
            yield Piece(begin, begin + size, Movable(extent.target, number))
            begin, position = begin + size, position + size

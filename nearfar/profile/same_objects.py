"""Which object of one run is which of another's, of two builds of one program."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.documents.workload import MemoryObject

INNERMOST = 3
"""Frames of which one must be common: without lines, those that were inlined are not known."""


def same_objects(these: Sequence[MemoryObject], those: Sequence[MemoryObject]) -> dict[int, int]:
    """Return the number in `those` of each of `these`; -1 where there is none.

    Both are of one program and input, but of two builds: names may lack lines, and addresses
    differ. What is called otherwise is told by where it was allocated and how much.
    """
    names = {(thing.kind, thing.name): thing.id for thing in those}
    found: dict[int, int] = {}
    for thing in these:
        number = names.get((thing.kind, thing.name), -1)
        if number < 0 and thing.frames:
            alike = [
                (depth, abs(thing.allocated_bytes - other.allocated_bytes), other.id)
                for other in those
                if other.kind == thing.kind and (depth := _common_depth(thing, other)) is not None
            ]
            number = min(alike)[2] if alike else -1
        found[thing.id] = number
    return found


def _common_depth(thing: MemoryObject, other: MemoryObject) -> int | None:
    """Return how far from the allocations the nearest function is that both have; None: too far.

    The nearest counts, then the size: main is an ancestor of nearly everything.
    """
    theirs = [frame.function for frame in other.frames[:INNERMOST]]
    return min(
        (
            depth + theirs.index(frame.function)
            for depth, frame in enumerate(thing.frames[:INNERMOST])
            if frame.function in theirs
        ),
        default=None,
    )

"""Finds the object of a plan that a call stack belongs to.

Functions must agree; lines choose between objects whose functions do, so that a build of an edited
source still matches. Where a build tells no inlined calls (no debug information), the plan's
innermost frames may be missing: callers then decide, the nearest first. Frames of wrappers that
only the profile could tell (called from nearly everywhere) are not in the plan: up to
`MOST_SKIPPED` frames that no object begins with are passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.documents.plan import Placement
from nearfar.documents.workload import Frame
from nearfar.profile import wrappers
from nearfar.profile.names import bare_name

MOST_SKIPPED = 3
RECOGNISABLE = ("heap", "mmap")

Stack = Sequence[tuple[int, Frame]]
"""Frames, innermost first, each with the number of the return address it is inlined at."""


@dataclass(frozen=True)
class Matched:
    """What a stack told."""

    placement: Placement | None
    depth: int
    """So many return addresses told it."""


def size_class(size: int) -> str:
    """Return the name that profiles give to blocks of about `size` bytes."""
    from nearfar.profile.objects import _sizes

    return _sizes(size.bit_length())


class Matcher:
    """A plan's objects by the functions that they begin with."""

    def __init__(self, placements: Sequence[Placement]) -> None:
        self._first: dict[str, list[Placement]] = {}
        self._inner: dict[str, list[tuple[int, Placement]]] = {}
        for placement in placements:
            if placement.kind not in RECOGNISABLE or not placement.frames:
                continue
            self._first.setdefault(_function(placement.frames[0]), []).append(placement)
            for depth, frame in enumerate(placement.frames[1:], start=1):
                self._inner.setdefault(_function(frame), []).append((depth, placement))

    def match(self, stack: Stack, tag: str = "", size: int = 0) -> Matched:
        """Return the object of an allocation of `size` bytes with the program's own `tag`."""
        bare = [(at, frame) for at, frame in stack if not wrappers.is_runtime(frame)] or list(stack)
        start = next(
            (i for i, (_, frame) in enumerate(bare) if not wrappers.is_wrapper(frame)),
            len(bare) - 1,
        )
        via = wrappers.container_call(
            [frame for _, frame in bare], [frame for _, frame in bare[start:]]
        )
        last = min(start + MOST_SKIPPED, len(bare) - 1)
        for depth in range(start, last + 1):
            kept = bare[depth:]
            candidates = self._first.get(_function(kept[0][1]), [])
            if not candidates:
                continue
            told = max(placement.told_by for placement in candidates)
            seen = kept[: max(told, 1)]
            found = _best(candidates, [frame for _, frame in seen], via, tag, size)
            return Matched(found, seen[-1][0] + 1)
        if found := self._by_callers(bare[start:], tag, size):
            return Matched(found, bare[last][0] + 1)
        return Matched(None, bare[last][0] + 1)

    def _by_callers(self, kept: Stack, tag: str, size: int) -> Placement | None:
        """Match a stack without inlined calls: its first frame is a later one of the plan's."""
        if kept[0][1].line:
            return None  # this build does tell inlined calls
        scored: list[tuple[int, int, int, Placement]] = []
        for number, (depth, placement) in enumerate(self._inner.get(_function(kept[0][1]), [])):
            if not _split_agrees(placement, tag, size):
                continue
            agreeing = 0
            for frame, (_, seen) in zip(placement.frames[depth:], kept, strict=False):
                if _function(frame) != _function(seen):
                    break
                agreeing += 1
            scored.append((agreeing, placement.size_bytes, -number, placement))
        return max(scored)[3] if scored else None


def _best(
    candidates: Sequence[Placement], seen: Sequence[Frame], via: str, tag: str, size: int
) -> Placement | None:
    """Return the candidate whose frames agree best; None if no candidate's functions do."""
    best: Placement | None = None
    best_score: tuple[object, ...] = ()
    for placement in candidates:
        told = placement.frames[: max(1, placement.told_by)]
        pairs = list(zip(told, seen, strict=False))
        if len(seen) < len(told) or not all(_function(a) == _function(b) for a, b in pairs):
            continue
        if not _split_agrees(placement, tag, size):
            continue
        off = sum(abs(a.line - b.line) for a, b in pairs if a.line and b.line)
        exact = sum(_same_line(a, b) for a, b in pairs)
        score = (bool(placement.split), exact, placement.via == via, -off, placement.size_bytes)
        if best is None or score > best_score:
            best, best_score = placement, score
    return best


def _split_agrees(placement: Placement, tag: str, size: int) -> bool:
    """Tell whether the block is in the part of its site that the object is."""
    if not placement.split:
        return True
    wanted = placement.split.split(", ")
    return all(part == tag or part == size_class(size) for part in wanted)


def _same_line(one: Frame, other: Frame) -> bool:
    return one.line == other.line and Path(one.file).name == Path(other.file).name


def _function(frame: Frame) -> str:
    return bare_name(frame.function)

"""Finds the object of a plan that a call stack belongs to.

The profile names each object by a chain of functions and lines. Another build shows the same chain
with gaps: a tail call leaves no frame, and without debug information inlined calls do not show;
and line tables alone (clang -g1) call an inlined ns::Arena::Allocate just Allocate. So a stack is
laid along every chain, in order; the object whose chain needs the fewest gaps is its, and among
equals lines decide, the nearest first, so that a build of an edited source still matches.
Functions that the plan never mentions are passed over at the beginning of a stack: wrappers that
only the profile could tell (called from nearly everywhere) are left out of its chains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.documents.plan import Placement
from nearfar.documents.workload import Frame
from nearfar.profile.objects import size_class_name
from nearfar.program import wrappers
from nearfar.program.names import bare_name
from nearfar.run import nameless

RECOGNISABLE = ("heap", "mmap")
MOST_GAPS = 2
"""Where inlined calls show: two tail calls on one path are rare, more are another path."""
MOST_GAPS_WITHOUT_LINES = 6
"""Where they do not: a small function's callers are often inlined too."""
MOST_SKIPPED = 4
"""Unknown functions above the allocation."""

Stack = Sequence[tuple[int, Frame]]
"""Frames, innermost first, each with the number of the return address it is inlined at."""


@dataclass(frozen=True)
class Matched:
    """What a stack told."""

    placement: Placement | None
    depth: int
    """So many return addresses told it."""


@dataclass(frozen=True)
class _Chain:
    """One object's chain of callers."""

    placement: Placement
    functions: tuple[str, ...]

    @property
    def told(self) -> int:
        """Return how many of the functions tell the object from others."""
        return max(1, min(self.placement.told_by, len(self.functions)))


@dataclass(frozen=True)
class _Laid:
    """How a stack lies along a chain."""

    gaps: int
    used: int
    """Frames of the stack that were looked at."""
    exact_lines: int
    lines_off: int


class Matcher:
    """A plan's objects by the functions in their chains."""

    def __init__(self, placements: Sequence[Placement]) -> None:
        self._chains: dict[str, list[_Chain]] = {}
        self._spellings: dict[str, dict[str, set[str]]] = {}
        """Of each function's last word the names in the plan that end with it, and their files."""
        for placement in placements:
            if placement.kind not in RECOGNISABLE or not placement.frames:
                continue
            chain = _Chain(placement, tuple(_function(frame) for frame in placement.frames))
            for function in dict.fromkeys(chain.functions):
                self._chains.setdefault(function, []).append(chain)
            for function, frame in zip(chain.functions, placement.frames, strict=True):
                names = self._spellings.setdefault(_last_word(function), {})
                names.setdefault(function, set()).add(_file(frame))

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
        last = min(start + MOST_SKIPPED, len(bare)) - 1
        first = next((i for i in range(start, last + 1) if self._names(bare[i][1])), None)
        if first is None:
            return Matched(None, bare[last][0] + 1)
        kept = bare[first:]
        best: Placement | None = None
        best_score: tuple[object, ...] = ()
        looked = 1
        chains = [chain for name in self._names(kept[0][1]) for chain in self._chains[name]]
        for chain in {id(chain): chain for chain in chains}.values():
            if not _split_agrees(chain.placement, tag, size):
                continue
            laid, used = self._lay([frame for _, frame in kept], chain)
            looked = max(looked, used)
            if laid is None:
                continue
            placement = chain.placement
            score = (
                bool(placement.split),
                -laid.gaps,
                laid.exact_lines,
                placement.via == via,
                -laid.lines_off,
                placement.size_bytes,
            )
            if best is None or score > best_score:
                best, best_score = placement, score
        return Matched(best, kept[min(looked, len(kept)) - 1][0] + 1)

    def _names(self, frame: Frame) -> list[str]:
        """Return the plan's names of a frame's function: one may lack its class or namespace.

        Then the source file must agree: many classes have an `add`.
        """
        function, file = _function(frame), _file(frame)
        return [
            name
            for name, files in self._spellings.get(_last_word(function), {}).items()
            if name == function
            or (file and file in files and (_ends(name, function) or _ends(function, name)))
        ]

    def _lay(self, stack: Sequence[Frame], chain: _Chain) -> tuple[_Laid | None, int]:
        """Lay a stack along a chain; None if it is another's. Also how far that was looked at."""
        inlined_show = any(frame.line for frame in stack[:1])
        most_gaps = MOST_GAPS if inlined_show else MOST_GAPS_WITHOUT_LINES
        at = gaps = exact = off = 0
        used = 0
        for used, frame in enumerate(stack, start=1):
            names = self._names(frame)
            found = next(
                (i for i in range(at, len(chain.functions)) if chain.functions[i] in names), None
            )
            if found is None:
                if inlined_show or names:
                    return None, used
                gaps += 1
            else:
                gaps += found - at
                told = chain.placement.frames[found]
                exact += told.line == frame.line and _file(told) == _file(frame)
                off += abs(told.line - frame.line) if told.line and frame.line else 0
                at = found + 1
            if gaps > most_gaps:
                return None, used
            if at >= chain.told:
                break
        # A stack that was cut, or ends: what is missing of the chain is a gap.
        gaps += max(0, chain.told - at)
        return (None if gaps > most_gaps else _Laid(gaps, used, exact, off)), used


def size_class(size: int) -> str:
    """Return the name that profiles give to blocks of about `size` bytes."""
    return size_class_name(size.bit_length())


def _split_agrees(placement: Placement, tag: str, size: int) -> bool:
    """Tell whether the block is in the part of its site that the object is."""
    if not placement.split:
        return True
    wanted = placement.split.split(", ")
    return all(part in (tag, size_class(size)) for part in wanted)


def _file(frame: Frame) -> str:
    return Path(frame.file).name


def _last_word(function: str) -> str:
    return function.rpartition("::")[2]


def _ends(function: str, name: str) -> bool:
    return function.endswith(f"::{name}")


def _function(frame: Frame) -> str:
    if (place := nameless.parse(frame.function)) is not None:
        return str(place)
    # _sdsnewlen is the inner half of sdsnewlen; which of the two shows is the compiler's choice.
    return bare_name(frame.function).lstrip("_") or frame.function

"""Matching of a call stack to an object of the plan.

The profile identifies each object by a chain of functions and lines. Another build shows the same
chain with gaps: a tail call leaves no frame, inlined calls are missing without debug information,
and with line tables alone (clang -g1) an inlined ns::Arena::Allocate is just Allocate. So a stack
is aligned with every chain, and the object whose chain needs the fewest gaps matches. Among equal
chains, the nearest lines and columns decide, so that a build of an edited source still matches.
Functions at the beginning of a stack that the plan never names are skipped, because the profile
leaves wrappers, which are called from nearly everywhere, out of its chains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.documents.plan import Placement
from nearfar.documents.workload import Frame
from nearfar.profile.objects import size_class_name
from nearfar.program import wrappers
from nearfar.program.named_frames import is_named
from nearfar.program.names import bare_name
from nearfar.run import code_offset

RECOGNISABLE = ("heap", "mmap")
MAX_GAPS = 2
"""Most gaps if the stack shows inlined calls: more than two tail calls mean another path."""
MAX_GAPS_WITHOUT_LINES = 6
"""Most gaps if it does not: the callers of a small function are often inlined too."""
MAX_SKIPPED = 4
"""Most functions unknown to the plan that are skipped above the allocation."""

Stack = Sequence[tuple[int, Frame]]
"""Frames, innermost first, each with the number of the return address it is inlined at."""


@dataclass(frozen=True)
class StackMatch:
    """The object of a call stack."""

    placement: Placement | None
    depth: int
    """Number of return addresses that decided the match."""
    same_call: tuple[Placement, ...] = ()
    """All placements that stacks with this first return address may match."""


@dataclass(frozen=True)
class _Chain:
    """One object's chain of callers."""

    placement: Placement
    functions: tuple[str, ...]

    @property
    def distinctive(self) -> int:
        """Number of functions that distinguish the object from others."""
        return max(1, min(self.placement.told_by, len(self.functions)))


@dataclass(frozen=True)
class _Alignment:
    """The alignment of a stack with a chain."""

    gaps: int
    used: int
    """Frames of the stack that were compared."""
    exact_lines: int
    line_distance: int
    column_distance: int
    """Sum over compared frames, which chooses between calls on one line."""


class Matcher:
    """Matches call stacks to a plan's objects."""

    def __init__(self, placements: Sequence[Placement]) -> None:
        self._chains: dict[str, list[_Chain]] = {}
        self._plan_names: dict[str, dict[str, set[str]]] = {}
        """Names in the plan by their last word, with the files of each."""
        for placement in placements:
            if placement.kind not in RECOGNISABLE or not placement.frames:
                continue
            chain = _Chain(placement, tuple(_function(frame) for frame in placement.frames))
            for function in dict.fromkeys(chain.functions):
                self._chains.setdefault(function, []).append(chain)
            for function, frame in zip(chain.functions, placement.frames, strict=True):
                names = self._plan_names.setdefault(_last_word(function), {})
                names.setdefault(function, set()).add(_file(frame))

    def match(
        self, stack: Stack, tag: str = "", size: int = 0, called: Callable[[], str] = str
    ) -> StackMatch:
        """Return the object of an allocation of `size` bytes with the program's `tag`.

        `called` returns the function that the innermost frame called.
        """
        bare = [(at, frame) for at, frame in stack if not wrappers.is_runtime(frame)] or list(stack)
        start = next(
            (i for i, (_, frame) in enumerate(bare) if not wrappers.is_wrapper(frame)),
            len(bare) - 1,
        )
        via = wrappers.container_call(
            [frame for _, frame in bare], [frame for _, frame in bare[start:]]
        )
        last = min(start + MAX_SKIPPED, len(bare)) - 1
        first = next((i for i in range(start, last + 1) if self._names(bare[i][1])), None)
        if first is None:
            return StackMatch(None, bare[last][0] + 1)
        rest = bare[first:]
        best: Placement | None = None
        best_score: tuple[object, ...] = ()
        compared = 1
        chains = [chain for name in self._names(rest[0][1]) for chain in self._chains[name]]
        if not via and first == 0 and any(chain.placement.via for chain in chains):
            via = called()
        for chain in {id(chain): chain for chain in chains}.values():
            if not _split_agrees(chain.placement, tag, size):
                continue
            alignment, used = self._align([frame for _, frame in rest], chain)
            compared = max(compared, used)
            if alignment is None:
                continue
            placement = chain.placement
            score = (
                bool(placement.split),
                -alignment.gaps,
                alignment.exact_lines,
                placement.via == via,
                -alignment.line_distance,
                -alignment.column_distance,
                placement.size_bytes,
            )
            if best is None or score > best_score:
                best, best_score = placement, score
        same_call = tuple(chain.placement for chain in chains) if rest[0][0] == 0 else ()
        return StackMatch(best, rest[min(compared, len(rest)) - 1][0] + 1, same_call)

    def _names(self, frame: Frame) -> list[str]:
        """Return the plan's names of a frame's function.

        The plan's name or the frame's may lack the class or namespace. Then the source files must
        agree, because many classes have an `add`.
        """
        function, file = _function(frame), _file(frame)
        return [
            name
            for name, files in self._plan_names.get(_last_word(function), {}).items()
            if name == function
            or (
                file
                and file in files
                and (_ends_with(name, function) or _ends_with(function, name))
            )
        ]

    def _align(self, stack: Sequence[Frame], chain: _Chain) -> tuple[_Alignment | None, int]:
        """Return a stack's alignment with a chain (None: they differ), and the frames compared."""
        inlined_show = any(frame.line for frame in stack[:1])
        max_gaps = MAX_GAPS if inlined_show else MAX_GAPS_WITHOUT_LINES
        at = gaps = exact = distance = columns = 0
        used = 0
        for used, frame in enumerate(stack, start=1):
            names = self._names(frame)
            position = next(
                (i for i in range(at, len(chain.functions)) if chain.functions[i] in names), None
            )
            if position is None:
                if inlined_show or names:
                    return None, used
                gaps += 1
            else:
                gaps += position - at
                planned = chain.placement.frames[position]
                exact += planned.line == frame.line and _file(planned) == _file(frame)
                if planned.line and frame.line:
                    distance += abs(planned.line - frame.line)
                if planned.column and frame.column:
                    columns += abs(planned.column - frame.column)
                at = position + 1
            if gaps > max_gaps:
                return None, used
            if at >= chain.distinctive:
                break
        # If the stack ends before the chain, the remainder of the chain counts as gaps.
        gaps += max(0, chain.distinctive - at)
        return (None if gaps > max_gaps else _Alignment(gaps, used, exact, distance, columns)), used


def size_class(size: int) -> str:
    """Return the profile's name of the size class of a block."""
    return size_class_name(size.bit_length())


def _split_agrees(placement: Placement, tag: str, size: int) -> bool:
    """Return whether the block's tag and size class are those of the object."""
    if not placement.split:
        return True
    return all(part in (tag, size_class(size)) for part in placement.split.split(", "))


def _file(frame: Frame) -> str:
    return Path(frame.file).name


def _last_word(function: str) -> str:
    return function.rpartition("::")[2]


def _ends_with(function: str, name: str) -> bool:
    return function.endswith(f"::{name}")


def _function(frame: Frame) -> str:
    if is_named(frame):
        # Many files have a function of the same name, such as "<module>".
        return f"{_file(frame)}:{frame.function}"
    if (offset := code_offset.parse(frame.function)) is not None:
        return str(offset)
    # _sdsnewlen is the inner half of sdsnewlen; the compiler decides which of them shows.
    return bare_name(frame.function).lstrip("_") or frame.function

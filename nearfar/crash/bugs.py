"""Shrinks failing states and groups them by bug, so that each bug is reported once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from nearfar.crash.checker import CheckerVerdict
from nearfar.crash.judge import FailureContext, Judge
from nearfar.crash.memory import PendingLine
from nearfar.crash.symbols import TraceSymbols, name_of, user_frame
from nearfar.documents.crash_report import (
    CrashBug,
    CrashExpected,
    CrashFile,
    CrashLine,
    CrashPage,
)

_KEY_FRAMES = 3
"""Frames that distinguish bugs: a store's line and two callers, because helpers have many
callers."""
_MAX_SHRUNK = 400
"""Maximum number of failing states that are reduced, each by some dozens of checks; later ones
count as the first bug unless they resemble a known one."""

PointKind = Literal["fence", "operation", "end", "store", "call", "output"]
POINT_KINDS: tuple[PointKind, ...] = ("fence", "operation", "end", "store")
"""In the order of the numbers in native/crash/explore/explorer.hpp."""


@dataclass(frozen=True, slots=True)
class FailurePoint:
    """A moment of a power cut.

    Points lie before fences, and at the ends of operations and the program. With eADR, they also
    lie after stores.
    """

    number: int
    at: PointKind
    stack: tuple[int, ...]


@dataclass
class FoundBug:
    """A bug and the image that shows it."""

    bug: CrashBug
    done: int
    begun: int
    pages: list[CrashPage]
    expected: CrashExpected | None = None
    """Content that an adapter requires."""
    in_flight: tuple[int, ...] = ()
    """Operations that have begun but not ended."""
    position: int = 0
    """Number of records in the trace before the power cut."""
    files: list[CrashFile] | None = None
    """Image of files, if the data is in files."""
    printed: bytes = b""


class Bugs:
    """Deduplicated bugs of one exploration."""

    def __init__(self) -> None:
        self._judge: Judge
        self._symbols: TraceSymbols
        self._by_key: dict[object, FoundBug] = {}
        self._by_features: dict[object, FoundBug] = {}
        self._shrunk = 0
        self._last: tuple[int, str, FoundBug] | None = None
        """Number of the last failing point, its symptom and its bug."""
        self._expected: Callable[[int], CrashExpected] | None = None

    def start_trace(
        self, symbols: TraceSymbols, expected: Callable[[int], CrashExpected] | None = None
    ) -> None:
        """Continue with another trace, whose addresses `symbols` names.

        `expected` returns the content that an adapter requires after a number of records.
        """
        self._symbols = symbols
        self._expected = expected
        self._by_features.clear()
        self._last = None

    def restore(self, bugs: Sequence[FoundBug]) -> None:
        """Replace all bugs by those of an earlier exploration."""
        self._by_key = {_key(found_bug.bug): found_bug for found_bug in bugs}

    def use_judge(self, judge: Judge) -> None:
        """Set the judge that shrinks states."""
        self._judge = judge

    def all(self) -> list[FoundBug]:
        """Return the bugs in the order in which they were found."""
        return list(self._by_key.values())

    def add(
        self,
        point: FailurePoint,
        context: FailureContext,
        lines: Mapping[int, PendingLine],
        state: dict[int, int],
        verdict: CheckerVerdict,
    ) -> FoundBug:
        """Count a refused state as one of a known bug, or shrink it to find its bug.

        `state`: how many pending stores of each line are in memory, by the line's offset.
        """
        features = _features(point, lines, state, verdict)
        known = self._by_features.get(features) or self._bug_of_previous_store(point, verdict)
        if known is None and self._shrunk >= _MAX_SHRUNK:
            known = next(iter(self._by_key.values()))
        if known is None:
            self._shrunk += 1
            known = self._shrink(point, context, lines, state, verdict)
            self._by_features[features] = known
        known.bug.states += 1
        self._last = (point.number, verdict.symptom, known)
        return known

    def _bug_of_previous_store(
        self, point: FailurePoint, verdict: CheckerVerdict
    ) -> FoundBug | None:
        """Return the bug at the previous store, if this store leaves the same symptom."""
        if point.at != "store" or self._last is None:
            return None
        number, symptom, bug = self._last
        return bug if number == point.number - 1 and symptom == verdict.symptom else None

    def _shrink(
        self,
        point: FailurePoint,
        context: FailureContext,
        lines: Mapping[int, PendingLine],
        state: dict[int, int],
        verdict: CheckerVerdict,
    ) -> FoundBug:
        """Reduce a failing state, and return the bug that the remaining stores identify."""

        def fails(tried: dict[int, int]) -> bool:
            return self._judge.judge(tried).symptom == verdict.symptom

        small, missing = shrink(state, lines, fails)
        final = self._judge.confirmed(small)
        survived = [self._crash_line(o, lines[o], n, n - 1) for o, n in small.items()]
        lost = [
            self._crash_line(o, lines[o], small.get(o, 0), _first_lost(small.get(o, 0), lines[o]))
            for o in missing
        ]
        if not small and point.at != "store" and (same := self._same_output(final)):
            return same
        essential = lost or survived
        frames = self._symbols.frames(point.stack) if point.stack else []
        key = (
            verdict.symptom,
            frozenset(_key_frames(line) for line in essential) or name_of(frames),
            bool(lost),
        )
        if key not in self._by_key:
            bug = CrashBug(
                id=len(self._by_key) + 1,
                symptom=final.symptom,
                said=final.output,
                point=point.number,
                at=point.at,
                operation=max(context.done, context.begun) if context.begun >= 0 else None,
                frames=frames,
                survived=survived,
                lost=lost,
                states=0,
                replay="",
            )
            image = self._judge.pages(small)
            expected = self._expected(context.position) if self._expected else None
            self._by_key[key] = FoundBug(
                bug,
                context.done,
                context.begun,
                image,
                expected,
                context.in_flight,
                context.position,
            )
        return self._by_key[key]

    def _same_output(self, verdict: CheckerVerdict) -> FoundBug | None:
        """Return a known bug with the same symptom and output; its stores have become durable."""
        output = without_numbers(verdict.output)
        for found_bug in self._by_key.values():
            bug = found_bug.bug
            if bug.symptom == verdict.symptom and without_numbers(bug.said) == output:
                return found_bug
        return None

    def _crash_line(self, offset: int, line: PendingLine, survived: int, store: int) -> CrashLine:
        """Return a line at a power cut, with the frames of its store number `store`.

        `survived` is the number of its stores that are in the image.
        """
        return CrashLine(
            offset=offset,
            stores=len(line.contents),
            survived=survived,
            flushed=line.flushed,
            frames=self._symbols.frames(line.stacks[store]),
        )


def _features(
    point: FailurePoint,
    lines: Mapping[int, PendingLine],
    state: Mapping[int, int],
    verdict: CheckerVerdict,
) -> object:
    """Return a key that states of one bug usually share; computing the key needs no check."""
    survived = frozenset(lines[offset].stacks[n - 1] for offset, n in state.items())
    lost = frozenset(
        line.stacks[state.get(offset, 0)]
        for offset, line in lines.items()
        if state.get(offset, 0) < len(line.contents)
    )
    return verdict.symptom, point.stack, survived, lost


def _key(bug: CrashBug) -> object:
    """Return a key that all states of one bug share."""
    frames = frozenset(_key_frames(line) for line in bug.lost or bug.survived)
    return bug.symptom, frames or name_of(bug.frames), bool(bug.lost)


def without_numbers(output: str) -> str:
    """Return a checker's output with its numbers replaced."""
    return re.sub(r"[0-9a-fA-F]*[0-9][0-9a-fA-F]*", "#", output)


def _first_lost(survived: int, line: PendingLine) -> int:
    return min(survived, len(line.contents) - 1)


def _key_frames(line: CrashLine) -> tuple[tuple[str, str, int], ...]:
    own = [frame for frame in line.frames if user_frame([frame]) is frame]
    first = user_frame(line.frames)
    begin = own.index(first) if first in own else 0
    return tuple(
        (frame.function, frame.file, frame.line) for frame in own[begin : begin + _KEY_FRAMES]
    )


State = dict[int, int]


def shrink(
    state: State, lines: Mapping[int, PendingLine], fails: Callable[[State], bool]
) -> tuple[State, State]:
    """Return the smallest state found that still fails, and the lines that must be missing.

    Adds each line that need not be missing, then removes each line that need not be present. The
    second result is the lines that are incomplete in the state and whose missing stores make it
    fail: offset to number of stores.
    """
    complete = {offset: len(line.contents) for offset, line in lines.items()}
    fullest = _greedy(state, lines, fails, complete)
    smallest = _greedy(fullest, [o for o in lines if o in fullest], fails, {})
    missing = {
        offset: stores for offset, stores in complete.items() if fullest.get(offset, 0) < stores
    }
    return smallest, missing


def _greedy(
    state: State, order: Iterable[int], fails: Callable[[State], bool], towards: Mapping[int, int]
) -> State:
    """Set each line as in `towards` (absent lines are removed) while the state still fails."""
    smallest = dict(state)
    for offset in order:
        tried = dict(smallest)
        if offset in towards:
            tried[offset] = towards[offset]
        else:
            tried.pop(offset, None)
        if tried != smallest and fails(tried):
            smallest = tried
    return smallest

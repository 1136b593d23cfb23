"""Puts failing states down to bugs, and reports each bug once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nearfar.crash.checker import Verdict
from nearfar.crash.judge import Judge, Moment
from nearfar.crash.memory import Line
from nearfar.crash.points import Point
from nearfar.crash.shrink import shrink
from nearfar.crash.sites import Sites, name_of, users
from nearfar.documents.crash_report import CrashBug, CrashExpected, CrashLine, CrashPage

_TELLING_FRAMES = 3
"""A store's own line and two callers tell bugs apart: helpers such as memcpy have many."""
_MOST_SHRUNK = 400
"""Failing states that are shrunk, each at some dozens of checks; more are put down to the bug of
the last that was alike."""


@dataclass
class Found:
    """A bug and the image that shows it."""

    bug: CrashBug
    done: int
    begun: int
    pages: list[CrashPage]
    expected: CrashExpected | None = None
    """What an adapter wants to find in it."""
    in_flight: tuple[int, ...] = ()
    """Operations that have begun and not ended."""


class Bugs:
    """Of one exploration."""

    def __init__(self) -> None:
        self._judge: Judge
        self._sites: Sites
        self._by_key: dict[object, Found] = {}
        self._alike: dict[object, Found] = {}
        self._shrunk = 0
        self._last: tuple[int, str, Found] | None = None
        self._expected: Callable[[int], CrashExpected] | None = None

    def of(self, sites: Sites) -> Bugs:
        """Take the next trace: its addresses are its own."""
        self._sites = sites
        self._alike.clear()
        self._last = None
        return self

    def restore(self, found: Sequence[Found]) -> None:
        """Take what an earlier exploration found, and nothing else."""
        self._by_key.clear()
        for one in found:
            self._by_key[_key(one.bug)] = one

    def with_judge(self, judge: Judge) -> Bugs:
        """Take who is asked while states are shrunk."""
        self._judge = judge
        return self

    def expecting(self, expected: Callable[[int], CrashExpected] | None) -> None:
        """Take who knows what must be there after so many records, if there is an adapter."""
        self._expected = expected

    def found(self) -> list[Found]:
        """Return the bugs in the order in which they were met."""
        return list(self._by_key.values())

    def add(
        self,
        point: Point,
        memory: Moment,
        lines: Mapping[int, Line],
        state: dict[int, int],
        verdict: Verdict,
    ) -> None:
        """Take a state that the checker refused."""
        look = _look(point, lines, state, verdict)
        known = self._alike.get(look) or self._still(point, verdict)
        if known is None and self._shrunk >= _MOST_SHRUNK:
            known = next(iter(self._by_key.values()))
        if known is None:
            self._shrunk += 1
            known = self._shrink(point, memory, lines, state, verdict)
            self._alike[look] = known
        known.bug.states += 1
        self._last = (point.number, verdict.symptom, known)

    def _still(self, point: Point, verdict: Verdict) -> Found | None:
        """Return, where every store is a point, the bug of the store before this one: the image
        has not been right since."""
        if point.at != "store" or self._last is None:
            return None
        number, symptom, found = self._last
        return found if number == point.number - 1 and symptom == verdict.symptom else None

    def _shrink(
        self,
        point: Point,
        memory: Moment,
        lines: Mapping[int, Line],
        state: dict[int, int],
        verdict: Verdict,
    ) -> Found:
        def fails(tried: dict[int, int]) -> bool:
            return self._judge.judge(memory, tried).symptom == verdict.symptom

        small, missing = shrink(state, lines, fails)
        final = self._judge.confirmed(memory, small)
        survived = [self._line(o, lines[o], n, n - 1) for o, n in small.items()]
        lost = [
            self._line(o, lines[o], small.get(o, 0), _first_lost(small.get(o, 0), lines[o]))
            for o in missing
        ]
        if not small and point.at != "store" and (same := self._shown_before(final)):
            return same
        telling = lost or survived
        frames = self._sites.frames(point.stack) if point.stack else []
        key = (
            verdict.symptom,
            frozenset(_telling(line) for line in telling) or name_of(frames),
            bool(lost),
        )
        if key not in self._by_key:
            bug = CrashBug(
                id=len(self._by_key) + 1,
                symptom=final.symptom,
                said=final.said,
                point=point.number,
                at=point.at,
                operation=max(memory.done, memory.begun) if memory.begun >= 0 else None,
                frames=frames,
                survived=survived,
                lost=lost,
                states=0,
                replay="",
            )
            image = self._judge.pages(memory, small)
            expected = self._expected(memory.position) if self._expected else None
            self._by_key[key] = Found(
                bug, memory.done, memory.begun, image, expected, memory.in_flight
            )
        return self._by_key[key]

    def _shown_before(self, verdict: Verdict) -> Found | None:
        """Return the bug whose image failed alike: what is durable now fails by itself, since
        what that bug needs has become durable meanwhile."""
        return next(
            (
                found
                for found in self._by_key.values()
                if found.bug.symptom == verdict.symptom
                and without_numbers(found.bug.said) == without_numbers(verdict.said)
            ),
            None,
        )

    def _line(self, offset: int, line: Line, survived: int, told: int) -> CrashLine:
        return CrashLine(
            offset=offset,
            stores=len(line.contents),
            survived=survived,
            flushed=line.flushed,
            frames=self._sites.frames(line.stacks[told]),
        )


def _look(
    point: Point, lines: Mapping[int, Line], state: Mapping[int, int], verdict: Verdict
) -> object:
    """Return what states of one bug mostly have in common, without asking the checker."""
    survived = frozenset(lines[offset].stacks[n - 1] for offset, n in state.items())
    lost = frozenset(
        line.stacks[state.get(offset, 0)]
        for offset, line in lines.items()
        if state.get(offset, 0) < len(line.contents)
    )
    return verdict.symptom, point.stack, survived, lost


def _key(bug: CrashBug) -> object:
    """Return what one bug's states have in common."""
    telling = frozenset(_telling(line) for line in bug.lost or bug.survived)
    return bug.symptom, telling or name_of(bug.frames), bool(bug.lost)


def without_numbers(said: str) -> str:
    """Return what a checker says whatever it counts."""
    return re.sub(r"[0-9a-fA-F]*[0-9][0-9a-fA-F]*", "#", said)


def _first_lost(survived: int, line: Line) -> int:
    return min(survived, len(line.contents) - 1)


def _telling(line: CrashLine) -> tuple[tuple[str, str, int], ...]:
    own = [frame for frame in line.frames if users([frame]) is frame]
    first = users(line.frames)
    begin = own.index(first) if first in own else 0
    return tuple(
        (frame.function, frame.file, frame.line) for frame in own[begin : begin + _TELLING_FRAMES]
    )

"""Judges states of the failure that an explorer waits at."""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from nearfar.crash.checker import Verdict
from nearfar.crash.engine import Engine
from nearfar.documents.crash_report import CrashPage


@dataclass(frozen=True)
class Budget:
    """When to stop."""

    states: int
    seconds: float


@dataclass(frozen=True)
class Moment:
    """What had happened at a failure point."""

    done: int
    """The last operation that ended; -1: none."""
    begun: int
    position: int
    """Records of ``Trace.events`` before it."""
    in_flight: tuple[int, ...] = ()
    """Operations that have begun and not ended, a thread's each."""


class Judge:
    """Asks the explorer; once the time is over, what was not judged does not fail."""

    def __init__(self, deadline_s: float) -> None:
        self._deadline_s = deadline_s
        self._engine: Engine | None = None
        self._known: dict[tuple[tuple[int, int], ...], Verdict] = {}

    def at_failure(self, engine: Engine, state: Mapping[int, int], verdict: Verdict) -> None:
        """Take the failure that `engine` waits at."""
        self._engine = engine
        self._known = {_key(state): verdict}

    def judge(self, _: Moment, state: Mapping[int, int]) -> Verdict:
        """Return the checker's verdict on `state`."""
        assert self._engine is not None
        key = _key(state)
        if key not in self._known:
            if time.monotonic() > self._deadline_s:
                return Verdict("", "")
            self._known[key] = self._engine.judge("J", state)
        return self._known[key]

    def plain(self, _: Moment, state: Mapping[int, int]) -> Verdict:
        """Return what the checker says when it is started for this state alone."""
        assert self._engine is not None
        return self._engine.judge("P", state)

    def confirmed(self, moment: Moment, state: Mapping[int, int]) -> Verdict:
        """Return the verdict as a replay will give it, where the plain command refuses too."""
        known = self.judge(moment, state)
        if known.symptom == "hang":
            return known  # it was waited for often enough
        plain = self.plain(moment, state)
        return plain if plain.symptom else known

    def pages(self, _: Moment, state: Mapping[int, int]) -> list[CrashPage]:
        """Return the state's image, without the pages that are all zeros."""
        assert self._engine is not None
        return [
            CrashPage(offset=offset, content=zlib.compress(content))
            for offset, content in self._engine.image(state)
            if any(content)
        ]


def _key(state: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(state.items()))

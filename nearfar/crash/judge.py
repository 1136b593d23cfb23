"""Judges states of the failure point at which an explorer waits."""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.crash.checker import CheckerVerdict
from nearfar.crash.engine import Engine
from nearfar.crash.record import RecordedRun
from nearfar.documents.crash_report import CrashPage


@dataclass(frozen=True)
class ExplorationBudget:
    """Limits at which an exploration stops."""

    states: int
    seconds: float


@dataclass(frozen=True)
class FailureContext:
    """Operations and records before a failure point."""

    done: int
    """The last operation that ended; -1: none."""
    begun: int
    position: int
    """Number of records of ``Trace.events`` before it."""
    in_flight: tuple[int, ...] = ()
    """Operations that have begun but not ended, one per thread."""


_MAX_REFUSAL_LINES = 6
"""Lines shown of a checker that refuses the pool without any crash: as many as a map's oracle
prints."""


class ServedDiffersError(Exception):
    """A loaded checker refuses an image that the same command accepts when started."""


class RefusedError(NearfarError):
    """The checker refuses the final pool of the program."""


class Judge:
    """Verdicts of one explorer; after the deadline, states that were not judged pass."""

    def __init__(self, deadline_s: float) -> None:
        self._deadline_s = deadline_s
        self._engine: Engine | None = None
        self._known: dict[tuple[tuple[int, int], ...], CheckerVerdict] = {}

    def at_failure(self, engine: Engine, state: Mapping[int, int], verdict: CheckerVerdict) -> None:
        """Continue with the failure at which `engine` waits."""
        self._engine = engine
        self._known = {_key(state): verdict}

    def judge(self, state: Mapping[int, int]) -> CheckerVerdict:
        """Return the checker's verdict on `state`."""
        assert self._engine is not None
        key = _key(state)
        if key not in self._known:
            if time.monotonic() > self._deadline_s:
                return CheckerVerdict("", "")
            self._known[key] = self._engine.judge("J", state)
        return self._known[key]

    def plain(self, state: Mapping[int, int]) -> CheckerVerdict:
        """Return the verdict of a checker that is started for this state alone."""
        assert self._engine is not None
        return self._engine.judge("P", state)

    def confirmed(self, state: Mapping[int, int]) -> CheckerVerdict:
        """Return the plain command's verdict if it refuses the state too, as a replay will."""
        known = self.judge(state)
        plain = self.plain(state)
        if known.symptom == "hang" and not plain.symptom:
            raise ServedDiffersError  # only the loaded checker exceeds the time limit
        return plain if plain.symptom else known

    def pages(self, state: Mapping[int, int]) -> list[CrashPage]:
        """Return the pages of the state's image, compressed, except those that are all zeros."""
        assert self._engine is not None
        return [
            CrashPage(offset=offset, content=zlib.compress(content))
            for offset, content in self._engine.image(state)
            if any(content)
        ]


def _key(state: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(state.items()))


def accepts_uncrashed(recorded: RecordedRun, engine: Engine) -> bool:
    """Return whether the loaded checker accepts the pool that the program left.

    Raises NearfarError if the checker refuses it when started by itself.
    """
    engine.send("U")
    served, plain = (
        (answer.text(), answer.text()) for answer in (engine.receive(), engine.receive())
    )
    symptom, text = plain
    if symptom:
        lines = text.strip().splitlines()[-_MAX_REFUSAL_LINES:]
        output = f": {'; '.join(lines)}" if lines else ""
        ended = f"; the program itself {recorded.exit_status}" if recorded.failed else ""
        raise RefusedError(
            f"the checker refuses the pool as the program left it, without any crash "
            f"({symptom}{output}{ended}); fix the checker or the program first",
            ExitCode.PROGRAM_FAILED if recorded.failed else ExitCode.WRONG_USE,
        )
    return not served[0]

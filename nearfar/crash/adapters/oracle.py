"""The verdict on a dump: is the content what completed operations left?"""

from __future__ import annotations

from nearfar.base.errors import CommandError
from nearfar.crash.adapters.content import parse
from nearfar.crash.adapters.history import History
from nearfar.crash.checker import Verdict
from nearfar.crash.trace import Trace
from nearfar.documents.crash_report import CrashExpected, CrashKey

_MOST_COMPLAINTS = 5


class ContentOracle:
    """Of one trace of a program that marks what it does to a map or a set."""

    def __init__(self, trace: Trace, *, empty: bool) -> None:
        """`empty`: the pool held no key when the run began."""
        self._history = History(trace.events, empty=empty)
        if self._history.operations == 0:
            raise CommandError(
                "--dump needs to know the operations, and the program marks none: say "
                "NEARFAR_CRASH_OP and NEARFAR_CRASH_OUTCOME of nearfar/crash.h, or use --check"
            )
        self._last: tuple[int, CrashExpected] | None = None

    def __call__(self, position: int, dumped: Verdict) -> Verdict:
        """Judge what the dump printed of an image that the power left after `position` records."""
        if self._last is None or self._last[0] != position:
            self._last = position, self.expected(position)
        return judge_content(self._last[1], dumped)

    def expected(self, position: int) -> CrashExpected:
        """Return what may be there."""
        return self._history.expected(position)


def judge_content(expected: CrashExpected, dumped: Verdict) -> Verdict:
    """Compare a dump with what may be there."""
    content = parse(dumped.said)
    if dumped.symptom and not content.complaint:
        return Verdict(dumped.symptom, "\n".join(dumped.said.splitlines()[-_MOST_COMPLAINTS:]))
    wrong = []
    if content.twice is not None:
        wrong.append(f"key {content.twice} is there twice")
    for key, may in expected.keys.items():
        held = None if key not in content.values else content.values[key] or ""
        said = _wrong(key, held, may)
        wrong += [said] if said else []
    if not expected.others:
        strange = [key for key in content.values if key not in expected.keys]
        wrong += [f"key {key} is there, and no operation put it there" for key in strange]
    content_is_right = not wrong
    wrong += [content.complaint] if content.complaint else []
    if not wrong:
        return Verdict("", "")
    more = len(wrong) - _MOST_COMPLAINTS
    shown = wrong[:_MOST_COMPLAINTS] + ([f"and {more} more"] if more > 0 else [])
    return Verdict("does not work" if content_is_right else "wrong content", "\n".join(shown))


def _wrong(key: str, held: str | None, may: CrashKey) -> str:
    """Return what is wrong with what a key holds ("": of a set), or nothing."""
    if may.anything or held in may.allowed or (held == "" and may.allowed != [None]):
        return ""
    done = f"{may.last} had completed" if may.last else "nothing had completed"
    if held is None:
        return f"key {key} is gone: {done}"
    if may.allowed == [None]:
        return f"key {key} is there: {done}"
    allowed = " or ".join("nothing" if value is None else value for value in may.allowed)
    return f"key {key} holds {held}, not {allowed}: {done}"

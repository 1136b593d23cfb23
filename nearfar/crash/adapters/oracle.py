"""The verdict on a dump: is the content what completed operations left?"""

from __future__ import annotations

from collections.abc import Callable

from nearfar.base.errors import CommandError
from nearfar.crash.adapters.content import parse
from nearfar.crash.adapters.history import ANYTHING, History, Value
from nearfar.crash.checker import Verdict
from nearfar.crash.trace import Trace

_MOST_COMPLAINTS = 5


def content_oracle(*, empty: bool) -> Callable[[Trace], Callable[[int, Verdict], Verdict]]:
    """Return what makes an oracle of a trace; `empty`: the program made its pool."""

    def of(trace: Trace) -> Callable[[int, Verdict], Verdict]:
        history = History(trace.events, empty=empty)
        if history.operations == 0:
            raise CommandError(
                "--dump needs to know the operations, and the program marks none: say "
                "NEARFAR_CRASH_OP and NEARFAR_CRASH_OUTCOME of nearfar/crash.h, or use --check"
            )

        def judge(position: int, dumped: Verdict) -> Verdict:
            return verdict(history, position, dumped)

        return judge

    return of


def verdict(history: History, position: int, dumped: Verdict) -> Verdict:
    """Judge a dump of an image that the power left after `position` records."""
    content = parse(dumped.said)
    if dumped.symptom and not content.complaint:
        return Verdict(dumped.symptom, "\n".join(dumped.said.splitlines()[-_MOST_COMPLAINTS:]))
    wrong = []
    if content.twice is not None:
        wrong.append(f"key {content.twice} is there twice")
    for key in history.touched():
        held: Value = None if key not in content.values else content.values[key] or ""
        said = _wrong(history, position, key, held)
        wrong += [said] if said else []
    known = set(history.touched())
    for key in content.values:
        if key not in known and ANYTHING not in history.possible(key, position):
            wrong.append(f"key {key} is there, and no operation put it there")
    if content.complaint:
        wrong.append(content.complaint)
    if not wrong:
        return Verdict("", "")
    only_stuck = content.complaint and len(wrong) == 1
    symptom = "does not work" if only_stuck else "wrong content"
    more = len(wrong) - _MOST_COMPLAINTS
    shown = wrong[:_MOST_COMPLAINTS] + ([f"and {more} more"] if more > 0 else [])
    return Verdict(symptom, "\n".join(shown))


def _wrong(history: History, position: int, key: str, held: Value) -> str:
    """Return what is wrong with what a key holds ("": of a set), or nothing."""
    possible = history.possible(key, position)
    if ANYTHING in possible or held in possible:
        return ""
    if held == "" and possible - {None}:
        return ""
    last = history.last(key, position)
    done = f"{last} had completed" if last else "nothing had completed"
    if held is None:
        return f"key {key} is gone: {done}"
    if possible == {None}:
        return f"key {key} is there: {done}"
    allowed = " or ".join(sorted("nothing" if value is None else value for value in possible))
    return f"key {key} holds {held}, not {allowed}: {done}"

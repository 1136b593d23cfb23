"""Verdict on a dump: whether the completed operations can have left the content."""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.base.errors import CommandError
from nearfar.crash.adapters.history import OperationHistory
from nearfar.crash.checker import CheckerVerdict
from nearfar.crash.trace import CrashTrace
from nearfar.documents.crash_report import CrashExpected, CrashKey

_MAX_COMPLAINTS = 5


@dataclass(frozen=True)
class DumpedKeys:
    """Keys and values of an image, as a dump printed them."""

    values: dict[str, str | None]
    """Value by key; None: the dump prints no value, as for a set."""
    duplicate: str | None
    """A key that is printed twice."""
    complaint: str
    """Text of a line that begins with ``!``."""


def parse_dump(text: str) -> DumpedKeys:
    """Read a line for each key: ``key value`` or ``key``, with a tab instead of the space."""
    values: dict[str, str | None] = {}
    duplicate = None
    complaint = ""
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("!"):
            complaint = line[1:].strip()
        elif line:
            key, _, value = line.partition("\t" if "\t" in line else " ")
            if key in values:
                duplicate = key
            values[key] = value.strip() or None
    return DumpedKeys(values, duplicate, complaint)


class ContentOracle:
    """Judge of dumps of a map or set, from the operations that the program marks."""

    def __init__(self, trace: CrashTrace, *, empty: bool) -> None:
        """Read a trace; `empty`: the pool had no keys before the run."""
        self._history = OperationHistory(trace.events, empty=empty)
        if self._history.operations == 0:
            raise CommandError(
                "--dump needs marked operations, and the program marks none: mark them with "
                "NEARFAR_CRASH_OP and NEARFAR_CRASH_OUTCOME of nearfar/crash.h, or use --check"
            )
        self._last: tuple[int, CrashExpected] | None = None

    def __call__(self, position: int, dumped: CheckerVerdict) -> CheckerVerdict:
        """Judge the dump of an image after a power cut that follows `position` records."""
        if self._last is None or self._last[0] != position:
            self._last = position, self.expected(position)
        return judge_content(self._last[1], dumped)

    def expected(self, position: int) -> CrashExpected:
        """Return the allowed content after `position` records."""
        return self._history.expected(position)


def judge_content(expected: CrashExpected, dumped: CheckerVerdict) -> CheckerVerdict:
    """Compare a dump with the allowed content."""
    content = parse_dump(dumped.output)
    if dumped.symptom and not content.complaint:
        return CheckerVerdict(
            dumped.symptom, "\n".join(dumped.output.splitlines()[-_MAX_COMPLAINTS:])
        )
    wrong = []
    if content.duplicate is not None:
        wrong.append(f"key {content.duplicate} is there twice")
    for key, allowed in expected.keys.items():
        value = None if key not in content.values else content.values[key] or ""
        complaint = _complaint(key, value, allowed)
        wrong += [complaint] if complaint else []
    if not expected.others:
        unknown = [key for key in content.values if key not in expected.keys]
        wrong += [f"key {key} is there, and no operation put it there" for key in unknown]
    content_is_right = not wrong
    wrong += [content.complaint] if content.complaint else []
    if not wrong:
        return CheckerVerdict("", "")
    more = len(wrong) - _MAX_COMPLAINTS
    shown = wrong[:_MAX_COMPLAINTS] + ([f"and {more} more"] if more > 0 else [])
    return CheckerVerdict(
        "does not work" if content_is_right else "wrong content", "\n".join(shown)
    )


def _complaint(key: str, value: str | None, rule: CrashKey) -> str:
    """Return the error in a key's value ("" for a set, None if absent), or ""."""
    if rule.anything or value in rule.allowed or (value == "" and rule.allowed != [None]):
        return ""
    done = f"{rule.last} had completed" if rule.last else "nothing had completed"
    if value is None:
        return f"key {key} is gone: {done}"
    if rule.allowed == [None]:
        return f"key {key} is there: {done}"
    allowed = " or ".join("nothing" if other is None else other for other in rule.allowed)
    return f"key {key} holds {value}, not {allowed}: {done}"

"""Puts bugs down to the mistakes that lints saw, and tells of each mistake and symptom once."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.crash.bugs import Found, without_numbers
from nearfar.crash.sites import name_of
from nearfar.documents.crash_report import CrashBug, CrashLint

_CAUSES = (
    "store without snapshot",
    "snapshot too short",
    "moved without both snapshots",
    "never flushed",
    "never fenced",
)
"""Lints of which a wrong image may be the consequence, the most telling first."""


def merged(found: Sequence[Found], lints: Sequence[CrashLint]) -> list[Found]:
    """Return one bug for each symptom and cause.

    One forgotten snapshot shows at every fence until the transaction ends, each time with other
    stores beside it: the store that a lint tells of is what they have in common. Where no lint
    tells of any, it is the same symptom with the same words at the same fence, or with nothing in
    flight that matters.
    """
    by_key: dict[object, Found] = {}
    kept: list[Found] = []
    for one in found:
        one.bug.cause = _cause(one.bug, lints)
        keys = _keys(one.bug)
        known = next((by_key[key] for key in keys if key in by_key), None)
        if known is None:
            kept.append(one)
        else:
            known.bug.states += one.bug.states
        for key in keys:
            by_key.setdefault(key, known or one)
    for number, one in enumerate(kept, 1):
        one.bug.id = number
    return kept


def _keys(bug: CrashBug) -> list[object]:
    """Return what another bug is the same for sharing any of."""
    if bug.cause:
        return [(bug.symptom, bug.cause)]
    last = bug.said.splitlines()[-1] if bug.said else ""
    told = (bug.symptom, without_numbers(last))
    keys: list[object] = [(*told, bug.at, name_of(bug.frames))]
    return keys if bug.lost else [*keys, (*told, "whatever is lost")]


def _cause(bug: CrashBug, lints: Sequence[CrashLint]) -> str:
    places = {name_of(line.frames) for line in [*bug.survived, *bug.lost]}
    for kind in _CAUSES:
        for lint in lints:
            if lint.kind == kind and name_of(lint.frames) in places:
                return f"{kind}: {name_of(lint.frames)}"
    return ""

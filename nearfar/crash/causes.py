"""Puts bugs down to the mistakes that lints saw, and tells of each mistake and symptom once."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.crash.bugs import Found
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
    """Return one bug for each symptom and cause; those without a cause stay as they are.

    One forgotten snapshot shows at every fence until the transaction ends, each time with other
    stores beside it: the store that a lint tells of is what they have in common.
    """
    by_cause: dict[tuple[str, str], Found] = {}
    kept: list[Found] = []
    for one in found:
        one.bug.cause = _cause(one.bug, lints)
        key = (one.bug.symptom, one.bug.cause)
        if one.bug.cause and key in by_cause:
            by_cause[key].bug.states += one.bug.states
            continue
        if one.bug.cause:
            by_cause[key] = one
        kept.append(one)
    for number, one in enumerate(kept, 1):
        one.bug.id = number
    return kept


def _cause(bug: CrashBug, lints: Sequence[CrashLint]) -> str:
    places = {name_of(line.frames) for line in [*bug.survived, *bug.lost]}
    for kind in _CAUSES:
        for lint in lints:
            if lint.kind == kind and name_of(lint.frames) in places:
                return f"{kind}: {name_of(lint.frames)}"
    return ""

"""Assigns bugs to the mistakes that lints found, one bug for each mistake and symptom."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.crash.bugs import FoundBug, without_numbers
from nearfar.crash.lints._registry import LINTS
from nearfar.crash.sites import name_of
from nearfar.documents.crash_report import CrashBug, CrashLint


def merged(bugs: Sequence[FoundBug], reported: Sequence[CrashLint]) -> list[FoundBug]:
    """Return one bug for each symptom and cause.

    One forgotten snapshot shows at every fence until the transaction ends, each time with other
    stores: the store that a lint reports is what these bugs share. Bugs without such a store are
    the same if they have the same symptom and output at the same fence, or no line that must be
    missing.
    """
    by_key: dict[object, FoundBug] = {}
    distinct: list[FoundBug] = []
    for found_bug in bugs:
        bug = found_bug.bug
        bug.cause = _cause(bug, reported)
        keys = _keys(bug)
        known = next((by_key[key] for key in keys if key in by_key), None)
        if known is None:
            distinct.append(found_bug)
        else:
            known.bug.states += bug.states
        for key in keys:
            by_key.setdefault(key, known or found_bug)
    for number, found_bug in enumerate(distinct, 1):
        found_bug.bug.id = number
    return distinct


def _keys(bug: CrashBug) -> list[object]:
    """Return keys of which two reports of one bug share at least one."""
    if bug.cause:
        return [(bug.symptom, bug.cause)]
    last = bug.said.splitlines()[-1] if bug.said else ""
    symptom = (bug.symptom, without_numbers(last))
    keys: list[object] = [(*symptom, bug.at, name_of(bug.frames))]
    return keys if bug.lost else [*keys, (*symptom, "nothing must be missing")]


def _cause(bug: CrashBug, reported: Sequence[CrashLint]) -> str:
    """Return the first lint, by rank as a cause, about a store of the bug."""
    places = {name_of(line.frames) for line in [*bug.survived, *bug.lost]}
    ranked = [lint for lint in reported if LINTS.get(lint.kind).explains]
    for lint in sorted(ranked, key=lambda lint: LINTS.get(lint.kind).explains):
        if name_of(lint.frames) in places:
            return f"{lint.kind}: {name_of(lint.frames)}"
    return ""

"""Known bugs, from an earlier report."""

from __future__ import annotations

from nearfar.crash.report.words import fingerprint, place_of
from nearfar.documents.crash_report import CrashBug, CrashReport


class KnownBugs:
    """Bugs of an earlier report, recognised by symptom, function and file, because lines move."""

    def __init__(self, report: CrashReport | None) -> None:
        bugs = [] if report is None else [*report.bugs, *report.undecided]
        self._names = {_name(bug) for bug in bugs}

    def is_new(self, bug: CrashBug) -> bool:
        """Return whether the report does not contain a bug."""
        return _name(bug) not in self._names


def _name(bug: CrashBug) -> str:
    return fingerprint(bug.symptom, place_of(bug))

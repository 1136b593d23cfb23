"""One thing that a lint met."""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.documents.crash_report import CrashObject, LintKind


@dataclass(frozen=True)
class Finding:
    """Of one kind, at one place of the pool, by one place of the program."""

    kind: LintKind
    offset: int
    stack: tuple[int, ...]
    note: str = ""
    """What a person wants to know beside it."""
    object: CrashObject | None = None

"""Flushes of fewer bytes than were stored."""

from __future__ import annotations

from nearfar.crash.analysis.durability import UncoveredBytes
from nearfar.crash.lints._registry import Lint, LintFinding, register


@register
class FlushTooShort(Lint):
    """A flush of fewer bytes than were stored, which only the line they share made durable.

    No flush named the bytes until the program ended, and a flush of other bytes of their line
    covered them. Where the object lies elsewhere in its line, they are lost.
    """

    kind = "flush too short"
    pitfall = "log_short_flush"
    with_eadr = False

    def examine(self, fact: object) -> LintFinding | None:
        """Judge bytes that are durable by chance."""
        if not isinstance(fact, UncoveredBytes):
            return None
        count = "a byte" if fact.size == 1 else f"{fact.size} bytes"
        note = f"{count} that no flush names, durable only by the line"
        return self.finding(fact.offset, fact.stack, note)

"""Flushes of bytes that were never stored to."""

from __future__ import annotations

from nearfar.crash.analysis.durability import UselessFlush
from nearfar.crash.lints._registry import Lint, LintFinding, register


@register
class FlushedUnmodified(Lint):
    """A flush of bytes that the program had not stored to.

    Nothing stored to the requested bytes since the program began. The rest of their lines does not
    count.
    """

    kind = "flushed unmodified"
    severity = "note"
    pitfall = "log_flush_unmodified"
    about_flush = True
    with_eadr = False

    def examine(self, fact: object) -> LintFinding | None:
        """Judge a useless flush."""
        if isinstance(fact, UselessFlush) and not fact.was_stored:
            return self.finding(fact.offset, fact.stack)
        return None

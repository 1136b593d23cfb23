"""Flushes of bytes that are flushed already."""

from __future__ import annotations

from nearfar.crash.analysis.durability import UselessFlush
from nearfar.crash.lints._registry import Lint, LintFinding, register


@register
class FlushedTwice(Lint):
    """A flush of bytes that had been flushed and not stored to since.

    The same thread flushed the same bytes before, and nothing stored to them since. The requested
    bytes count, not their whole lines. A thread that flushes what another flushed cannot know
    that: it is not reported.
    """

    kind = "flushed twice"
    severity = "note"
    pitfall = "list_flushed_twice"
    about_flush = True
    with_eadr = False

    def examine(self, fact: object) -> LintFinding | None:
        """Judge a useless flush."""
        if isinstance(fact, UselessFlush) and fact.was_stored:
            return self.finding(fact.offset, fact.stack)
        return None

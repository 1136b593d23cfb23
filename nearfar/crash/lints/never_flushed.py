"""Stores that are never flushed."""

from __future__ import annotations

from nearfar.crash.analysis.durability import UndurableLine
from nearfar.crash.lints._registry import Lint, LintFinding, register


@register
class NeverFlushed(Lint):
    """A store that nothing wrote back before the program ended.

    No flush covered the store until the program ended.
    """

    kind = "never flushed"
    pitfall = "log_entry_not_flushed"
    explains = 4
    with_eadr = False

    def examine(self, fact: object) -> LintFinding | None:
        """Judge a line that is not durable at the end."""
        if isinstance(fact, UndurableLine) and not fact.is_flushed:
            return self.finding(fact.offset, fact.stack)
        return None

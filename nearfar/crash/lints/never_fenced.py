"""Flushes that no fence waits for."""

from __future__ import annotations

from nearfar.crash.analysis.durability import UndurableLine
from nearfar.crash.lints._registry import Lint, LintFinding, register


@register
class NeverFenced(Lint):
    """A store that was flushed, and no fence waited for it.

    No fence of the thread that flushed the store followed until the program ended.
    """

    kind = "never fenced"
    pitfall = "log_never_fenced"
    explains = 5
    with_eadr = False

    def examine(self, fact: object) -> LintFinding | None:
        """Judge a line that is not durable at the end."""
        if isinstance(fact, UndurableLine) and fact.is_flushed:
            return self.finding(fact.offset, fact.stack)
        return None

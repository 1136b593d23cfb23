"""Handles of objects that the same transaction frees."""

from __future__ import annotations

from nearfar.crash.analysis.transactions import FreedHandle
from nearfar.crash.lints._registry import Lint, LintFinding, register


@register
class FreedHandleKept(Lint):
    """A transaction stores the handle of an object that it frees.

    The handle is still in the pool when the transaction commits.
    """

    kind = "freed handle kept"
    pitfall = "list_freed_handle"

    def examine(self, fact: object) -> LintFinding | None:
        """Judge a handle of a freed object."""
        if isinstance(fact, FreedHandle):
            note = f"{fact.target:#x} was freed by the same transaction"
            return self.finding(fact.offset, fact.stack, note)
        return None

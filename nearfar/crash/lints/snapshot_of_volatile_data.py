"""Snapshots of memory outside the pool."""

from __future__ import annotations

from nearfar.crash.analysis.transactions import VolatileSnapshot
from nearfar.crash.lints._registry import Lint, LintFinding, register


@register
class SnapshotOfVolatileData(Lint):
    """A snapshot of memory that is not in the pool.

    libpmemobj aborts the transaction.
    """

    kind = "snapshot of volatile data"
    pitfall = "list_volatile_snapshot"

    def examine(self, fact: object) -> LintFinding | None:
        """Judge a snapshot outside the pool."""
        if isinstance(fact, VolatileSnapshot):
            note = f"{fact.size} bytes at {fact.address:#x}, which is not in the pool"
            return self.finding(0, fact.stack, note)
        return None

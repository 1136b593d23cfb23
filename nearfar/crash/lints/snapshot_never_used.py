"""Snapshots that no store needs."""

from __future__ import annotations

from nearfar.crash.analysis.transactions import UnusedSnapshot
from nearfar.crash.lints._registry import Lint, LintFinding, register


@register
class SnapshotNeverUsed(Lint):
    """A snapshot of what no transaction changed.

    No transaction ever stored to the bytes that this line of the program snapshots.
    """

    kind = "snapshot never used"
    severity = "note"
    pitfall = "list_unused_snapshot"

    def examine(self, fact: object) -> LintFinding | None:
        """Judge a place that takes snapshots."""
        if isinstance(fact, UnusedSnapshot):
            note = f"{fact.size} bytes"
            return LintFinding(self.kind, fact.offset, fact.stack, note, fact.object)
        return None

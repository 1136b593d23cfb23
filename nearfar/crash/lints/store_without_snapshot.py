"""Stores in a transaction that would not be undone."""

from __future__ import annotations

from nearfar.crash.analysis.transactions import BareStore
from nearfar.crash.lints._registry import Lint, LintFinding, register
from nearfar.crash.lints.moved_without_both_snapshots import moved_value
from nearfar.crash.lints.snapshot_too_short import is_cut_short


@register
class StoreWithoutSnapshot(Lint):
    """A store in a transaction that does not undo it: TX_ADD is missing.

    A store in a transaction to bytes that it neither snapshotted nor allocated.
    """

    kind = "store without snapshot"
    pitfall = "list_no_snapshot"
    explains = 1

    def examine(self, fact: object) -> LintFinding | None:
        """Judge a store without a snapshot."""
        if isinstance(fact, BareStore) and not moved_value(fact) and not is_cut_short(fact):
            return self.finding(fact.offset, fact.stack, fact.reach())
        return None

"""Values moved between objects of which a transaction snapshots only one."""

from __future__ import annotations

from nearfar.crash.analysis.transactions import BareStore
from nearfar.crash.lints._registry import Lint, LintFinding, register


def moved_value(store: BareStore) -> str:
    """Return how a store moves a value from one object to another, or ""."""
    transaction = store.transaction
    if transaction.is_foreign:
        return "the transaction is of another pool"
    for _, before, after in store.words:
        for value, owners in ((after, transaction.overwritten), (before, transaction.stored)):
            if owners.get(value, set()) - {store.owner_begin}:
                return f"{value:#x} changes its object"
    return ""


@register
class MovedWithoutBothSnapshots(Lint):
    """A value goes from one object to another, and one of both is not in the transaction's log.

    A store without a snapshot, as in *store without snapshot*, whose value comes from another
    object or goes to one; or a store in a transaction of another pool.
    """

    kind = "moved without both snapshots"
    pitfall = "move_one_snapshot"
    explains = 3

    def examine(self, fact: object) -> LintFinding | None:
        """Judge a store without a snapshot."""
        if isinstance(fact, BareStore) and (note := moved_value(fact)):
            return self.finding(fact.offset, fact.stack, note)
        return None

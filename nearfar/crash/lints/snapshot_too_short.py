"""Snapshots that end before the store that needs them."""

from __future__ import annotations

from nearfar.crash.analysis.pool_state import WORD_BYTES
from nearfar.crash.analysis.transactions import BareStore
from nearfar.crash.lints._registry import Lint, LintFinding, register
from nearfar.crash.lints.moved_without_both_snapshots import moved_value

_STATEMENT_BYTES = 16
"""Maximum distance in machine code between two stores of one assignment: two moves of 8 bytes, by
which compilers copy a struct."""


def is_cut_short(store: BareStore) -> bool:
    """Return whether a snapshot ends within the store's word or covers part of its statement."""
    word = store.offset // WORD_BYTES
    if any((snapshot.end - 1) // WORD_BYTES == word for snapshot in store.snapshots_near()):
        return True
    return any(
        begin == store.owner_begin and _is_one_statement(store.stack, stack)
        for stack, begin in store.transaction.covered
    )


def _is_one_statement(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Return whether two stacks are of stores next to each other in one function call."""
    return first[1:] == second[1:] and abs(first[0] - second[0]) <= _STATEMENT_BYTES


@register
class SnapshotTooShort(Lint):
    """A snapshot that ends before the store does.

    A store without a snapshot, as in *store without snapshot*, where another part of the word, or
    of the same assignment or copy, has its snapshot.
    """

    kind = "snapshot too short"
    pitfall = "list_short_snapshot"
    explains = 2

    def examine(self, fact: object) -> LintFinding | None:
        """Judge a store without a snapshot."""
        if isinstance(fact, BareStore) and not moved_value(fact) and is_cut_short(fact):
            return self.finding(fact.offset, fact.stack, fact.reach())
        return None

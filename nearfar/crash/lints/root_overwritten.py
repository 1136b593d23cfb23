"""Roots that lead nowhere."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.crash.analysis.allocations import ALLOCATIONS
from nearfar.crash.lints._registry import Lint, LintContext, LintFinding, register
from nearfar.crash.trace import EventKind, TraceEvent


@register
class RootOverwritten(Lint):
    """Nothing leads from the root to what was stored.

    A store removed the root's handle of an object that is live and cannot be reached any more; or
    no object that the run allocated can be reached.
    """

    kind = "root overwritten"
    pitfall = "list_root_overwritten"
    cost = "final image"

    def __init__(self, context: LintContext) -> None:
        super().__init__(context)
        self._root_event: TraceEvent | None = None
        self._allocated: set[int] = set()
        self._overwritten: dict[int, LintFinding] = {}
        """The last store that removed the handle of an object from the root, by object."""

    def feed(self, event: TraceEvent) -> Iterator[LintFinding]:
        """Note allocations and stores to the root; findings follow in `finish`."""
        yield from ()
        state = self.context.state
        if event.kind in ALLOCATIONS:
            self._allocated.add(event.a)
        elif event.kind is EventKind.ROOT:
            self._root_event = event
        elif event.kind is EventKind.STORE and state.root is not None:
            for offset, before, after in state.words:
                target = state.objects.beginning_at(before)
                if state.root.begin <= offset < state.root.end and target and before != after:
                    note = f"it had the handle of {before:#x}, which is still live"
                    self._overwritten[before] = self.finding(offset, event.stack, note)

    def finish(self) -> Iterator[LintFinding]:
        """Compare with what can be reached in the pool that the program left."""
        lost = self.context.lost
        root = self._root_event
        if lost is None or root is None or not self._allocated or not lost.can_tell or lost.walks:
            return
        objects = [final for final in lost.final_objects if final.type_number >= 0]
        unreachable = {final.offset for final in objects if not final.is_reachable}
        findings = [finding for begin, finding in self._overwritten.items() if begin in unreachable]
        yield from findings
        allocated = [final.offset for final in objects if final.offset in self._allocated]
        if not findings and allocated and unreachable.issuperset(allocated):
            note = f"none of {len(allocated)} allocated objects can be reached from the root"
            yield self.finding(root.a, root.stack, note)

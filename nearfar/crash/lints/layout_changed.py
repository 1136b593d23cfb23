"""Pools of one layout that are opened as another."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.crash.analysis.allocations import ALLOCATIONS, FREES
from nearfar.crash.lints._registry import Lint, LintContext, LintFinding, register
from nearfar.crash.trace import EventKind, TraceEvent


@register
class LayoutChanged(Lint):
    """The pool was made for another layout: name, root or size of a type.

    The pool is opened under another layout name, or the size of the root or the only size of a
    type has changed. Types whose objects are reallocated are arrays, whose sizes may change.
    """

    kind = "layout changed"
    pitfall = "list_layout_name"

    def __init__(self, context: LintContext) -> None:
        super().__init__(context)
        self._sizes: dict[int, set[int]] = {}
        self._first: dict[int, TraceEvent] = {}
        self._arrays: set[int] = set()
        self._live = {existing.begin for existing in context.state.objects}
        self._freed_by: tuple[int, ...] = ()

    def feed(self, event: TraceEvent) -> Iterator[LintFinding]:
        """Compare the names and sizes of a pool that is opened, of the root, of allocations."""
        if event.kind is EventKind.POOL_OPEN:
            opened_as, stored, *_ = [*event.payload.decode(errors="replace").split("\0"), "", ""]
            if event.c and opened_as and stored and opened_as != stored:
                note = f"the pool has layout {stored!r} and is opened as {opened_as!r}"
                yield self.finding(0, event.stack, note)
        elif event.kind is EventKind.ROOT and event.b:
            before = int.from_bytes(event.payload[:8], "little")
            if before and before != event.b:
                note = f"the root has {before} bytes and is opened with {event.b} bytes"
                yield self.finding(event.a, event.stack, note)
        elif event.kind in ALLOCATIONS:
            number = int.from_bytes(event.payload[:8], "little")
            # A call that reallocates frees, if the object moves, and allocates.
            if event.a in self._live or event.stack == self._freed_by:
                self._arrays.add(number)
            self._live.add(event.a)
            self._freed_by = ()
            self._sizes.setdefault(number, set()).add(event.b)
            self._first.setdefault(number, event)
        elif event.kind in FREES:
            self._live.discard(event.a)
            self._freed_by = event.stack

    def finish(self) -> Iterator[LintFinding]:
        """Compare types whose objects all have one size, before the run and in it."""
        for number, before in self.context.state.sizes_before.items():
            if number in self._arrays:
                continue
            allocated = self._sizes.get(number, set())
            # The heap rounds sizes up to those of its classes: only larger ones have changed.
            if len(before) == 1 and len(allocated) == 1 and min(allocated) > min(before):
                event = self._first[number]
                note = (
                    f"objects of type {number} had {min(before)} bytes before the run; new ones "
                    f"have {min(allocated)}"
                )
                yield self.finding(event.a, event.stack, note)

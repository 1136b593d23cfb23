"""Objects that nothing leads to at the end."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.crash.lints._registry import Lint, LintFinding, register
from nearfar.crash.lints.root_overwritten import RootOverwritten


@register
class Leaked(Lint):
    """An allocation that nothing leads to any more, without any crash.

    At the end of the program an object that a handle once led to is allocated and cannot be
    reached. Types that no word with an offset ever leads to are left out: they are linked in
    another way (xor, compressed). So are programs that walk all objects (`POBJ_FIRST`).
    """

    kind = "leaked"
    pitfall = "list_leaked"
    with_eadr = False
    cost = "crash images"

    def finish(self) -> Iterator[LintFinding]:
        """Yield the allocations that are lost."""
        lost = self.context.lost
        if lost is None or not lost.can_tell or lost.walks or not self.context.ended:
            return
        if RootOverwritten.kind in self.context.reported:
            return  # the same mistake
        for leaked in lost.at_end():
            made = self.context.state.objects.beginning_at(leaked.offset)
            if made is not None and made.stack:
                note = f"{made.size} bytes of type {made.type_number}"
                yield self.finding(leaked.offset, made.stack, note)

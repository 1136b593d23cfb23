"""Objects that nothing leads to after a power cut."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.crash.lints._registry import Lint, LintFinding, register


@register
class LeakedByACrash(Lint):
    """An allocation that nothing leads to after recovery.

    After a power cut and the checker's recovery, an object is allocated and no word of the root or
    of what it leads to has its offset; or the image has, byte for byte, the content of the pool
    just before the object was allocated or just after it is freed, and the object as well (a handle
    in a stale slot leads to it, which the program never reads). The types and programs that
    *leaked* leaves out are left out.
    """

    kind = "leaked by a crash"
    pitfall = "list_leak"
    with_eadr = False
    cost = "crash images"

    def finish(self) -> Iterator[LintFinding]:
        """Examine images of power cuts near allocations and frees."""
        lost = self.context.lost
        if lost is not None and lost.can_tell:
            for leak in lost.after_crashes():
                yield LintFinding(self.kind, leak.offset, leak.stack, leak.note, leak.object)

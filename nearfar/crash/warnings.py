"""What must be said of a recording, so that a clean report is not taken for more than it is."""

from __future__ import annotations

from nearfar.crash.layout import Kind
from nearfar.crash.record import Recorded


def warnings_of(recorded: Recorded, *, eadr: bool) -> list[str]:
    """Return one sentence for each thing that was not seen."""
    trace = recorded.trace
    found = []
    if recorded.failed:
        found.append(f"the program {recorded.exit_status}: what it did until then was explored")
    if not eadr and not trace.counts.get(Kind.FENCE):
        found.append(
            "no fence was seen: the program never flushes, or it does so by instructions that only "
            "`nearfar cc` shows"
        )
    if trace.full:
        found.append("the trace is full: what the program did after that was not seen")
    if trace.coarse:
        found.append(
            "the program stores too often for each store to be seen alone: of places that stored "
            "often, tears within a line may have been missed"
        )
    if trace.children:
        found.append(
            "the program forked while it had the pool: its children's stores count as well, in the "
            "order in which they came; another run may order them otherwise"
        )
    if trace.written:
        found.append(
            "the program wrote to the pool's file by system calls: that counts as stores which "
            "fsync, msync or a flush makes durable"
        )
    if trace.others:
        found.append(
            "several processes had the pool at once: their stores and flushes are in the order in "
            "which they came; another run may order them otherwise"
        )
    if trace.copied and trace.pool_bytes:
        found.append(
            "the program mapped the pool privately as well: what it stores there cannot reach it"
        )
    if trace.stolen:
        found.append(
            f"a thread waited for another in a way that is not scheduled ({trace.stolen} times): "
            "the same seed may give another order"
        )
    if trace.outside and trace.pool_bytes:
        found.append("a mapping of the pool was not followed: too large, or too many at once")
    return found

"""Owners of the lines of bugs: objects of libpmemobj, its logs, its heap."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from nearfar.base.units import LINE_BYTES
from nearfar.crash.analysis.allocations import LiveObjects
from nearfar.crash.analysis.pool_state import PoolState
from nearfar.crash.bugs import FoundBug
from nearfar.crash.trace import CrashTrace
from nearfar.documents.crash_report import CrashLine, CrashObject

_LAYOUT_OFFSET = 4096 + 1024
"""struct pmemobjpool: the header and the layout's name, then the offset and number of lanes and the
offset of the heap, 8 bytes each."""


def name_owners(trace: CrashTrace, state: PoolState, bugs: Iterable[FoundBug]) -> None:
    """Set the owner of each line of bugs of one trace.

    `state` has processed no event of the trace, and knows the objects that existed before the run.
    """
    waiting = sorted(bugs, key=lambda found_bug: -found_bug.position)
    for position, event in enumerate(trace.events):
        while waiting and waiting[-1].position <= position:
            _name(waiting.pop(), state)
        if not waiting:
            return
        state.feed(event)
    for found_bug in waiting:
        _name(found_bug, state)


def _name(found_bug: FoundBug, state: PoolState) -> None:
    """Set the owners of a bug's lines from the pool's state at its power cut."""
    if state.uuid == 0:
        return
    lanes, _, heap = struct.unpack("<3Q", state.content(_LAYOUT_OFFSET, 24))
    for line in [*found_bug.bug.survived, *found_bug.bug.lost]:
        line.object = _object_in(state.objects, line)
        if line.object is None and lanes <= line.offset:
            is_log = line.offset < heap
            line.object = CrashObject(
                what="log" if is_log else "heap",
                offset=line.offset,
                size=0,
                type_number=0,
                byte=0,
            )


def _object_in(objects: LiveObjects, line: CrashLine) -> CrashObject | None:
    """Return the first object with a byte in the line."""
    steps: Sequence[int] = range(line.offset, line.offset + LINE_BYTES, 16)
    return next((o for at in steps if (o := objects.describe(at)) is not None), None)

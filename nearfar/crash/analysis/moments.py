"""The pool's content at allocations and frees, to find objects that stay allocated after a cut.

A handle in a stale place (a slot behind a ring's head, a word of a block that was used before)
makes an object look reachable. So images are compared instead: if a power cut leaves the pool as
it was just before an allocation, or is just after a free, plus that object, then nothing in the
pool can know of the object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.crash.analysis.allocations import ALLOCATIONS, FREES
from nearfar.crash.analysis.origins import StackOrigins
from nearfar.crash.analysis.pool_images import PoolObject
from nearfar.crash.analysis.pool_state import PoolState
from nearfar.crash.trace import CrashTrace, TraceEvent
from nearfar.crash.trace_format import EventKind

_PART_OF_CALL = frozenset(
    {EventKind.STORE, EventKind.TOUCH, EventKind.FLUSH, EventKind.STREAM, EventKind.FENCE}
)
"""Events that libpmemobj makes within one call of the program."""

_MAX_OBJECTS = 2000
"""Live objects at a moment that is kept: each is copied."""


@dataclass(frozen=True)
class HeapMoment:
    """The pool, all stores included, just before an allocation or just after a free."""

    fence: int
    """Number of the next fence."""
    stack: tuple[int, ...]
    """Stack that allocated or freed."""
    was_freed: bool
    object_offset: int
    """The object that was allocated or freed."""
    contents: dict[int, bytes]
    """Offset to content of each other live object."""

    def matches(self, live: Sequence[PoolObject], image: bytes) -> bool:
        """Return whether an image has the object, and otherwise the content of this moment."""
        offsets = {pool_object.offset for pool_object in live}
        return offsets == self.contents.keys() | {self.object_offset} and all(
            image[begin : begin + len(content)] == content
            for begin, content in self.contents.items()
        )


class HeapMoments:
    """Moments collected while a trace is walked."""

    def __init__(
        self, trace: CrashTrace, origins: StackOrigins, before: Sequence[PoolObject]
    ) -> None:
        self.moments: list[HeapMoment] = []
        self._state = PoolState(trace)
        self._state.add_existing(before)
        self._origins = origins
        self._fence = 0
        self._open: set[int] = set()
        """Threads in a transaction."""
        self._freed: dict[int, list[TraceEvent]] = {}
        """Frees of each thread's transaction, which take effect at its commit."""
        self._pending: list[TraceEvent] = []
        """Frees whose call may still be running."""

    def feed(self, event: TraceEvent, *, keep: bool) -> None:
        """Take one event; its moment is collected only if `keep` is set."""
        if self._pending and self._is_past_call(event):
            self.finish()
            self._pending.clear()
        if event.kind is EventKind.FENCE:
            self._fence += 1
        self._state.feed(event)
        if event.kind is EventKind.TX_BEGIN:
            self._open.add(event.thread)
        elif event.kind is EventKind.TX_END and event.a <= 1:
            self._open.discard(event.thread)
            committed = self._freed.pop(event.thread, [])
            if keep and event.c == 0:
                self._pending += committed
        elif event.kind in FREES and event.thread in self._open:
            self._freed.setdefault(event.thread, []).append(event)
        elif event.kind in FREES and keep:
            self._pending.append(event)
        elif event.kind in ALLOCATIONS and keep and self._is_unlinked(event):
            self._add(event, was_freed=False)

    def finish(self) -> None:
        """Collect the frees that were still pending when the trace ended."""
        for freed in self._pending:
            self._add(freed, was_freed=True)

    def _is_unlinked(self, event: TraceEvent) -> bool:
        """Return whether an allocation is permanent and did not store its handle itself."""
        return event.thread not in self._open and event.a not in self._state.led_to

    def _is_past_call(self, event: TraceEvent) -> bool:
        return event.kind not in _PART_OF_CALL or self._origins.from_program(event.stack)

    def _add(self, event: TraceEvent, *, was_freed: bool) -> None:
        if len(self._state.objects) > _MAX_OBJECTS:
            return
        contents = {
            live.begin: self._state.content(live.begin, live.size)
            for live in self._state.objects
            if live.begin != event.a
        }
        self.moments.append(HeapMoment(self._fence, event.stack, was_freed, event.a, contents))

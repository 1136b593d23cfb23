"""Objects that stay allocated though the pool is as it is without them.

A handle that is left in a stale place (a slot behind a ring's head, a word of a block that was used
before) makes an object look reachable. So this compares instead: if a power cut leaves what the
pool held just before an allocation, or holds just after a free, and only that object more, then
nothing in the pool can know of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.crash.layout import Kind
from nearfar.crash.lints.images import PoolObject
from nearfar.crash.lints.objects import ALLOCATIONS, FREES
from nearfar.crash.lints.whose import Whose
from nearfar.crash.lints.world import World
from nearfar.crash.trace import Event, Trace

_PART_OF_CALL = frozenset({Kind.STORE, Kind.TOUCH, Kind.FLUSH, Kind.STREAM, Kind.FENCE})
"""What libpmemobj does within one call of the program."""

_MOST_OBJECTS = 2000
"""That live, in a moment that is kept: each is copied."""


@dataclass(frozen=True)
class Moment:
    """The pool, all stores included, beside one allocation or free."""

    fence: int
    """Number of the fence that comes next."""
    stack: tuple[int, ...]
    """Of who allocated or freed."""
    was_freed: bool
    about: int
    """The object that was allocated or freed."""
    contents: dict[int, bytes]
    """Offset of each other object that lives to what it holds."""


class Moments:
    """Collects them as a trace is walked."""

    def __init__(self, trace: Trace, whose: Whose, before: Sequence[PoolObject]) -> None:
        self.found: list[Moment] = []
        self._world = World(trace)
        self._world.held(before)
        self._whose = whose
        self._fence = 0
        self._open: set[int] = set()
        """Threads in a transaction."""
        self._freed: dict[int, list[Event]] = {}
        """Of each thread's transaction, which frees when it commits."""
        self._over: list[Event] = []
        """Frees that are told and may still be at work."""

    def feed(self, event: Event, *, wanted: bool) -> None:
        """Take one event; what it brings is kept only if it is `wanted`."""
        if self._over and self._is_past_call(event):
            for freed in self._over:
                self._keep(freed, was_freed=True)
            self._over.clear()
        if event.kind is Kind.FENCE:
            self._fence += 1
        self._world.feed(event)
        if event.kind is Kind.TX_BEGIN:
            self._open.add(event.thread)
        elif event.kind is Kind.TX_END and event.a <= 1:
            self._open.discard(event.thread)
            committed = self._freed.pop(event.thread, [])
            if wanted and event.c == 0:
                self._over += committed
        elif event.kind in FREES and event.thread in self._open:
            self._freed.setdefault(event.thread, []).append(event)
        elif event.kind in FREES and wanted:
            self._over.append(event)
        elif event.kind in ALLOCATIONS and wanted and self._is_unknown(event):
            self._keep(event, was_freed=False)

    def finish(self) -> None:
        """Take what was still at work when the trace ended."""
        for freed in self._over:
            self._keep(freed, was_freed=True)

    def _is_unknown(self, event: Event) -> bool:
        """Return whether an allocation is for good, and did not store its handle itself."""
        return event.thread not in self._open and event.a not in self._world.led_to

    def _is_past_call(self, event: Event) -> bool:
        return event.kind not in _PART_OF_CALL or self._whose.users(event.stack)

    def _keep(self, event: Event, *, was_freed: bool) -> None:
        if self._world.objects.count() > _MOST_OBJECTS:
            return
        contents = {
            one.begin: self._world.content(one.begin, one.size)
            for one in self._world.objects.living()
            if one.begin != event.a
        }
        self.found.append(Moment(self._fence, event.stack, was_freed, event.a, contents))


def is_all_the_same(moment: Moment, live: Sequence[PoolObject], image: bytes) -> bool:
    """Return whether an image holds the moment's object, and else what the pool held then."""
    offsets = {one.offset for one in live}
    return offsets == moment.contents.keys() | {moment.about} and all(
        image[begin : begin + len(content)] == content for begin, content in moment.contents.items()
    )

"""Objects that cannot be reached: in the final image, or after recovery from a power cut.

A search for handles is not enough: a stale handle (in a slot behind a ring's head, or in a reused
block) makes a lost object look reachable. So images are compared too. If a power cut leaves an
object allocated, and all else in the pool as it was just before the object's allocation (or is just
after its free), then nothing in the pool can refer to the object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from nearfar.crash.analysis.allocations import ALLOCATIONS, FREES, LiveObjects
from nearfar.crash.analysis.origins import StackOrigins
from nearfar.crash.analysis.pool_images import PoolImages, PoolObject
from nearfar.crash.analysis.pool_state import PoolState
from nearfar.crash.memory import PoolMemory
from nearfar.crash.trace import CrashTrace, EventKind, TraceEvent
from nearfar.documents.crash_report import CrashObject

_IMAGES_PER_STACK = 2
"""Maximum number of images of one fence: an empty structure differs from a filled one."""
_FENCES_AFTER = 4
"""Fences probed after an allocation: a program links an object soon after it allocates it."""
_FENCES_BEFORE = 2
"""Fences probed before a free: a program unlinks an object just before it frees it."""


@dataclass(frozen=True)
class CrashLeak:
    """An object that stays allocated after a power cut."""

    offset: int
    stack: tuple[int, ...]
    note: str
    object: CrashObject | None


class LostObjects:
    """Unreachable objects of one trace; `state` has processed all of its events.

    Only types whose links are recognised count: without a crash, each live object of the type can
    be reached or was once pointed to. Objects linked by xor or compressed pointers, or found by
    iteration, never can.
    """

    def __init__(
        self, trace: CrashTrace, images: PoolImages, state: PoolState, origins: StackOrigins
    ) -> None:
        self._trace = trace
        self._images = images
        self._state = state
        self._origins = origins
        self._objects = LiveObjects()
        self._reported: set[tuple[int, ...]] = set()

    @property
    def walks(self) -> bool:
        """Return whether the program iterates over all objects, which makes each reachable."""
        return bool(self._trace.counts.get(EventKind.WALK))

    @cached_property
    def can_tell(self) -> bool:
        """Return whether leaks can be found: there are allocations, and images are small."""
        return self._images.fits(self._trace.pool_bytes) and any(
            event.kind in ALLOCATIONS or event.kind in FREES for event in self._trace.events
        )

    @cached_property
    def final_objects(self) -> list[PoolObject]:
        """Return the objects of the pool as the program left it."""
        memory = PoolMemory(self._trace.pool_bytes, eadr=True)
        for event in self._trace.events:
            memory.feed(event)
        self._images.write(memory.durable, {}, self._trace.pool_bytes)
        return self._images.objects()

    @cached_property
    def unseen_types(self) -> set[int]:
        """Return the types that are linked in a way that is not recognised."""
        return {
            lost.type_number
            for lost in self.final_objects
            if not lost.is_reachable and lost.offset not in self._state.led_to
        }

    def at_end(self) -> list[PoolObject]:
        """Return the unreachable objects, without a crash, of types whose links are recognised."""
        return [
            lost
            for lost in self.final_objects
            if not lost.is_reachable and lost.type_number not in self.unseen_types
        ]

    def after_crashes(self) -> Iterator[CrashLeak]:
        """Walk the trace again, with images at some fences; each stack is reported once."""
        _ = self.unseen_types  # computed now, before crash images use up the time
        memory = PoolMemory(self._trace.pool_bytes)
        chosen = _chosen_fences(self._trace)
        moments = self._moments(chosen)
        fence = -1
        for event in self._trace.events:
            fence += event.kind is EventKind.FENCE
            if event.kind is EventKind.FENCE and fence in chosen:
                if self._images.exhausted():
                    return
                yield from self._at_fence(
                    memory, [moment for moment in moments if moment.fence in _around(fence)]
                )
            memory.feed(event)
            self._objects.feed(event)

    def _moments(self, chosen: set[int]) -> list[HeapMoment]:
        """Return the moments of allocations and frees near a chosen fence."""
        if self.walks:
            return []
        moments = HeapMoments(self._trace, self._origins, self._images.before())
        near = {at for fence in chosen for at in _around(fence)}
        fence = 0
        for event in self._trace.events:
            fence += event.kind is EventKind.FENCE
            moments.feed(event, keep=fence in near and not self._images.exhausted())
        moments.finish()
        return moments.moments

    def _at_fence(self, memory: PoolMemory, moments: Sequence[HeapMoment]) -> Iterator[CrashLeak]:
        """Yield the objects that are still allocated, and lost, after recovery from a power cut."""
        images = self._images
        matching: list[HeapMoment] = []
        if moments:
            images.write(memory.durable, {}, self._trace.pool_bytes)
            live = images.objects()
            image = images.content()
            matching = [moment for moment in moments if moment.matches(live, image)]
        images.write(memory.durable, {}, self._trace.pool_bytes)
        if images.recover(memory.done, memory.begun).symptom:
            return  # the checker refuses the image: a bug, which is reported elsewhere
        recovered = {pool_object.offset: pool_object for pool_object in images.objects()}
        if not any(pool_object.type_number == -1 for pool_object in recovered.values()):
            return  # no root yet: nothing can be reached
        for pool_object in recovered.values():
            made = self._objects.beginning_at(pool_object.offset)
            if not pool_object.is_reachable and made is not None:
                yield from self._leak(pool_object, made.stack, "")
        for moment in matching:
            leaked = recovered.get(moment.object_offset)
            if leaked is not None:
                when = "after this" if moment.was_freed else "before this"
                note = f"; nothing else differs from the pool {when}"
                yield from self._leak(leaked, moment.stack, note)

    def _leak(self, leaked: PoolObject, stack: tuple[int, ...], note: str) -> Iterator[CrashLeak]:
        if leaked.type_number in self.unseen_types or stack in self._reported:
            return
        self._reported.add(stack)
        made = self._objects.beginning_at(leaked.offset)
        size = leaked.size if made is None else made.size
        text = f"{size} bytes of type {leaked.type_number}{note}"
        yield CrashLeak(leaked.offset, stack, text, self._objects.describe(leaked.offset))


def _around(fence: int) -> range:
    """Return the fences near `fence` at which a power cut may leave the same content."""
    return range(fence - _FENCES_AFTER, fence + 2 * _FENCES_BEFORE + 1)


def _chosen_fences(trace: CrashTrace) -> set[int]:
    """Return the numbers of the fences whose images are examined."""
    near = _fences_near_allocations(trace)
    seen: Counter[tuple[int, ...]] = Counter()
    chosen = set()
    fence = -1
    for event in trace.events:
        if event.kind is not EventKind.FENCE:
            continue
        fence += 1
        if fence in near and seen[event.stack] < _IMAGES_PER_STACK:
            seen[event.stack] += 1
            chosen.add(fence)
    return chosen


def _fences_near_allocations(trace: CrashTrace) -> set[int]:
    """Return the numbers of the fences at which an object may be allocated and not linked.

    An unfinished transaction's allocations and frees are undone, so its end counts.
    """
    near: set[int] = set()
    fence = 0
    pending: set[int] = set()
    for event in trace.events:
        if event.kind is EventKind.FENCE:
            fence += 1
        elif event.kind in (EventKind.TX_ALLOC, EventKind.TX_FREE):
            pending.add(event.thread)
        elif event.kind in ALLOCATIONS or (
            event.kind is EventKind.TX_END and event.thread in pending
        ):
            pending.discard(event.thread)
            near.update(range(fence, fence + _FENCES_AFTER))
        elif event.kind is EventKind.FREE:
            near.update(range(fence - _FENCES_BEFORE, fence + 1))
    return near


_PART_OF_CALL = frozenset(
    {EventKind.STORE, EventKind.TOUCH, EventKind.FLUSH, EventKind.STREAM, EventKind.FENCE}
)
"""Events that libpmemobj makes within one call of the program."""

_MAX_OBJECTS = 2000
"""Maximum number of live objects at a collected moment, because each object is copied."""


@dataclass(frozen=True)
class HeapMoment:
    """Content of the pool just before an allocation or just after a free, all stores included."""

    fence: int
    """Number of the next fence."""
    stack: tuple[int, ...]
    """Stack that allocated or freed."""
    was_freed: bool
    object_offset: int
    """The object that was allocated or freed."""
    contents: dict[int, bytes]
    """Content of each other live object, by offset."""

    def matches(self, live: Sequence[PoolObject], image: bytes) -> bool:
        """Return whether an image has the object and otherwise the content of this moment."""
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
        """Threads that are in a transaction."""
        self._freed: dict[int, list[TraceEvent]] = {}
        """Frees in each thread's transaction, which take effect at its commit."""
        self._pending: list[TraceEvent] = []
        """Frees whose call may still be running."""

    def feed(self, event: TraceEvent, *, keep: bool) -> None:
        """Process one event; its moment is collected only if `keep` is set."""
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
        """Return whether an allocation is permanent and did not itself store a handle."""
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

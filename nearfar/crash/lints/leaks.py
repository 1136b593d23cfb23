"""Allocations that nothing leads to, at the end or once the pool is recovered from a crash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from nearfar.crash.layout import Kind
from nearfar.crash.lints.finding import Finding
from nearfar.crash.lints.images import Images, PoolObject
from nearfar.crash.lints.kept import Moment, Moments, is_all_the_same
from nearfar.crash.lints.objects import ALLOCATIONS, FREES, Objects
from nearfar.crash.lints.whose import Whose
from nearfar.crash.lints.world import World
from nearfar.crash.memory import Memory
from nearfar.crash.trace import Trace

_PER_STACK = 2
"""Images of one fence: the first of an empty structure is not the second."""
_FENCES_AFTER = 4
_FENCES_BEFORE = 2
"""An object that was allocated is linked soon, and one that is freed was unlinked just before:
fences looked at after the one and before the other."""


class Leaks:
    """Of one trace. `world` has been fed all of it.

    Objects of a type are told of only if each of that type that lives without a crash can be
    reached, or was led to once: what is linked in a way that is not seen (xor, compressed, by
    walking) never is.
    """

    def __init__(self, trace: Trace, images: Images, world: World, whose: Whose) -> None:
        self._trace = trace
        self._images = images
        self._world = world
        self._whose = whose
        self._objects = Objects()
        self._walks = bool(trace.counts.get(Kind.WALK))
        self._unseen: set[int] = set()
        """Types that are linked in another way."""
        self._told: set[tuple[int, ...]] = set()

    def find(self, *, ended: bool) -> Iterator[Finding]:
        """Tell of each place that allocates or frees once; `ended`: nothing is held any more."""
        trace = self._trace
        if not self._images.fits(trace.pool_bytes):
            return
        if not any(event.kind in ALLOCATIONS or event.kind in FREES for event in trace.events):
            return
        whole = Memory(trace.pool_bytes, eadr=True)
        for event in trace.events:
            whole.feed(event)
        self._images.put(whole.durable, {}, trace.pool_bytes)
        lost = [one for one in self._images.objects() if not one.is_reachable]
        self._unseen = {one.type_number for one in lost if one.offset not in self._world.led_to}
        if ended and not self._walks:
            yield from self._for_good(lost)
        yield from self._by_crash()

    def _for_good(self, lost: list[PoolObject]) -> Iterator[Finding]:
        for one in lost:
            made = self._world.objects.that_begins(one.offset)
            if one.type_number in self._unseen or made is None or not made.stack:
                continue
            note = f"{made.size} bytes of type {made.type_number}"
            described = self._world.objects.describe(one.offset)
            yield Finding("leaked", one.offset, made.stack, note, described)

    def _by_crash(self) -> Iterator[Finding]:
        """Walk the trace once more, with images of some fences."""
        memory = Memory(self._trace.pool_bytes)
        chosen = _chosen(self._trace)
        moments = self._moments(chosen)
        fence = -1
        for event in self._trace.events:
            fence += event.kind is Kind.FENCE
            if event.kind is Kind.FENCE and fence in chosen:
                if self._images.exhausted():
                    return
                yield from self._look(
                    memory, [one for one in moments if one.fence in _around(fence)]
                )
            memory.feed(event)
            self._objects.feed(event)

    def _moments(self, chosen: set[int]) -> list[Moment]:
        """Return the pool beside the allocations and frees that are near a chosen fence."""
        if self._walks:
            return []
        moments = Moments(self._trace, self._whose, self._images.before())
        wanted = {at for fence in chosen for at in _around(fence)}
        fence = 0
        for event in self._trace.events:
            fence += event.kind is Kind.FENCE
            moments.feed(event, wanted=fence in wanted and not self._images.exhausted())
        moments.finish()
        return moments.found

    def _look(self, memory: Memory, moments: list[Moment]) -> Iterator[Finding]:
        """Look at the image of what is durable, as libpmemobj leaves it and as the checker does."""
        images = self._images
        alike: list[Moment] = []
        if moments:
            images.put(memory.durable, {}, self._trace.pool_bytes)
            live = images.objects()
            image = images.content()
            alike = [one for one in moments if is_all_the_same(one, live, image)]
        images.put(memory.durable, {}, self._trace.pool_bytes)
        if images.recover(memory.done, memory.begun).symptom:
            return  # a bug, told as such
        found = {one.offset: one for one in images.objects()}
        if not any(one.type_number == -1 for one in found.values()):
            return  # no root yet: nothing can be reached
        for one in found.values():
            made = self._objects.that_begins(one.offset)
            if not one.is_reachable and made is not None:
                yield from self._tell(one, made.stack, "")
        for moment in alike:
            kept = found.get(moment.about)
            if kept is not None:
                when = "after this" if moment.was_freed else "before this"
                note = f"; nothing else differs from the pool {when}"
                yield from self._tell(kept, moment.stack, note)

    def _tell(self, one: PoolObject, stack: tuple[int, ...], note: str) -> Iterator[Finding]:
        if one.type_number in self._unseen or stack in self._told:
            return
        self._told.add(stack)
        made = self._objects.that_begins(one.offset)
        size = one.size if made is None else made.size
        yield Finding(
            "leaked by a crash",
            one.offset,
            stack,
            f"{size} bytes of type {one.type_number}{note}",
            self._objects.describe(one.offset),
        )


def _around(fence: int) -> range:
    """Return the fences before which the pool may have been what a power cut at this one leaves."""
    return range(fence - _FENCES_AFTER, fence + 2 * _FENCES_BEFORE + 1)


def _chosen(trace: Trace) -> set[int]:
    """Return the numbers of the fences whose images are looked at."""
    near = _near(trace)
    met: Counter[tuple[int, ...]] = Counter()
    chosen = set()
    fence = -1
    for event in trace.events:
        if event.kind is not Kind.FENCE:
            continue
        fence += 1
        if fence in near and met[event.stack] < _PER_STACK:
            met[event.stack] += 1
            chosen.add(fence)
    return chosen


def _near(trace: Trace) -> set[int]:
    """Return the numbers of the fences at which an object may be allocated and not linked.

    What a transaction allocates or frees is undone with it: that counts where it ends.
    """
    near: set[int] = set()
    fence = 0
    pending: set[int] = set()
    for event in trace.events:
        if event.kind is Kind.FENCE:
            fence += 1
        elif event.kind in (Kind.TX_ALLOC, Kind.TX_FREE):
            pending.add(event.thread)
        elif event.kind in ALLOCATIONS or (event.kind is Kind.TX_END and event.thread in pending):
            pending.discard(event.thread)
            near.update(range(fence, fence + _FENCES_AFTER))
        elif event.kind is Kind.FREE:
            near.update(range(fence - _FENCES_BEFORE, fence + 1))
    return near

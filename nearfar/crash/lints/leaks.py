"""Allocations that nothing leads to once the pool is recovered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from nearfar.crash.layout import Kind
from nearfar.crash.lints.finding import Finding
from nearfar.crash.lints.images import Images, PoolObject
from nearfar.crash.lints.objects import ALLOCATIONS, Objects
from nearfar.crash.memory import Memory
from nearfar.crash.trace import Trace

_PER_STACK = 2
"""Images of one fence: the first of an empty structure is not the second."""
_FENCES_AFTER = 4
_FENCES_BEFORE = 2
"""An object that was allocated is linked soon, and one that is freed was unlinked just before:
fences looked at after the one and before the other."""


def leaks(trace: Trace, images: Images) -> Iterator[Finding]:
    """Look at what a power cut before a fence leaves, once the user's checker recovered it.

    Objects of a type are told of only if, without a crash, each of that type is reachable: what is
    linked in a way that is not seen (xor, compressed, by walking) never is.
    """
    if not images.fits(trace.pool_bytes):
        return
    if not any(event.kind in ALLOCATIONS for event in trace.events):
        return
    whole = Memory(trace.pool_bytes, eadr=True)
    for event in trace.events:
        whole.feed(event)
    images.put(whole.durable, {}, trace.pool_bytes)
    unseen = {one.type_number for one in images.objects() if not one.is_reachable}
    memory = Memory(trace.pool_bytes)
    objects = Objects()
    met: Counter[tuple[int, ...]] = Counter()
    told: set[tuple[int, ...]] = set()
    near = _near(trace)
    fence = -1
    for event in trace.events:
        fence += event.kind is Kind.FENCE
        if event.kind is Kind.FENCE and fence in near and met[event.stack] < _PER_STACK:
            met[event.stack] += 1
            if images.exhausted():
                return
            for one in _unreachable(memory, images, trace.pool_bytes):
                made = objects.that_begins(one.offset)
                if one.type_number in unseen or made is None or made.stack in told:
                    continue
                told.add(made.stack)
                yield Finding(
                    "leaked by a crash",
                    one.offset,
                    made.stack,
                    f"{made.size} bytes of type {made.type_number}",
                    objects.describe(one.offset),
                )
        memory.feed(event)
        objects.feed(event)


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


def _unreachable(memory: Memory, images: Images, pool_bytes: int) -> list[PoolObject]:
    images.put(memory.durable, {}, pool_bytes)
    if images.recover(memory.done, memory.begun).symptom:
        return []  # a bug, told as such
    found = images.objects()
    if not any(one.type_number == -1 for one in found):
        return []  # no root yet: nothing can be reached
    return [one for one in found if not one.is_reachable]

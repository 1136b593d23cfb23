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
    begun = False
    for event in trace.events:
        begun |= event.kind in ALLOCATIONS
        if event.kind is Kind.FENCE and begun and met[event.stack] < _PER_STACK:
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


def _unreachable(memory: Memory, images: Images, pool_bytes: int) -> list[PoolObject]:
    images.put(memory.durable, {}, pool_bytes)
    if images.recover(memory.done, memory.begun).symptom:
        return []  # a bug, told as such
    found = images.objects()
    if not any(one.type_number == -1 for one in found):
        return []  # no root yet: nothing can be reached
    return [one for one in found if not one.is_reachable]

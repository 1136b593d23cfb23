"""Page walks: a memory's curves for a program that walks less often than once a miss.

A chase over small pages waits for a page walk at nearly every miss, and its chains curve with it.
A search ends with several misses in one page, and a heap keeps to few pages: of one curve they
would be predicted much too slow (a binary search 2.1 times where 1.3 was measured). Where a memory
was measured with small pages and with large ones, what lies between the curves is what walks take,
and a program takes as much of it as its profile counts walks for its misses. A walk takes less
where its data are less, since their tables stay in caches: where chases over several regions were
measured with both page sizes, a program's walks are as long as those over a region of its own size.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from nearfar.predict.memory import Memory
from nearfar.predict.traffic import PhaseTraffic

MOST_SHARE = 1.5
"""Walks for each miss that are believed: misses of the cache and of translations are counted apart,
and of few misses their ratio is luck."""


def as_walked(memory: Memory, phase: PhaseTraffic) -> Memory:
    """Return the memory as the phase's misses see it; itself, where walks were not told apart."""
    if memory.unwalked_costs_ns is None or phase.walks_per_miss is None:
        return memory
    # A chase does not walk at every miss either: some of its pages are at hand.
    share = min(phase.walks_per_miss / memory.walks_measured, MOST_SHARE)
    if memory.walks_by_region is not None:
        share *= memory.walks_by_region.of_one(phase.walked_bytes, phase.translated_bytes)
    return _walked(memory, round(share, 6))


@lru_cache(maxsize=1024)
def _walked(memory: Memory, share: float) -> Memory:
    # Kept by the memory's identity: what is explained of near time is, too.
    assert memory.unwalked_costs_ns is not None
    costs = memory.unwalked_costs_ns
    costs = costs + share * (memory.chain_costs_ns - costs)
    return replace(
        memory,
        chain_costs_ns=costs,
        latency_ns=float(costs[0]),
        walk_ns=memory.walk_ns * share,
        unwalked_costs_ns=None,
    )

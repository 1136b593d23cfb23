"""Page walks: a memory's curves for a program that walks less often than once a miss.

A chase over small pages waits for a page walk at nearly every miss, and its chains curve with it.
A search ends with several misses in one page, and a heap keeps to few pages: of one curve they
would be predicted much too slow (a binary search 2.1 times where 1.3 was measured). Where a memory
was measured with small pages and with large ones, what lies between the curves is what walks take,
and a program takes as much of it as its profile counts walks for its misses. A walk takes less
where its data are less, since their tables stay in caches: where chases over several regions were
measured with both page sizes, a program's walks are as long as those over a region of its own size.

Beside a core that takes cache, a line of a page table is gone when it is next wanted, and the walk
waits for memory - if it is next wanted late. A chase that waits 470 ns for each access comes back
to a line after 1.4 ms, and its walks took 230 ns; a hash table whose misses overlap comes back
after 0.2 ms, and walks that took as much in the prediction made it 2.1 times slower where 1.5 was
measured. Chases over smaller regions come back sooner, and say what walks take then.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import isfinite, log2

import numpy as np

from nearfar.base.units import LINE_BYTES, PAGE_BYTES
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.shared_cache import chases
from nearfar.predict.traffic import STORE_STREAM, STREAM, PhaseTraffic, misses

MOST_SHARE = 1.5
"""Walks for each miss that are believed: misses of the cache and of translations are counted apart,
and of few misses their ratio is luck."""

ENTRY_BYTES = 8.0
"""Of a page table, for each page."""

REACH_BYTES = LINE_BYTES / ENTRY_BYTES * PAGE_BYTES
"""Data that one line of a page table is of."""

LINES_BETWEEN = 2.0
"""That each walk brings into the caches: one of a table, one of data."""

MOST_STEPS, ENOUGH = 50, 1e-4
"""Of the search for a far time and the walks that it makes; the latter on a walk of the chase."""


def as_walked(memory: MemoryCosts, phase: PhaseTraffic, near: MemoryCosts) -> MemoryCosts:
    """Return the memory as the phase's misses see it; itself, where walks were not told apart."""
    if memory.unwalked_costs_ns is None or phase.walks_per_miss is None:
        return memory
    # A chase does not walk at every miss either: some of its pages are at hand.
    # Of those that go to one line of a table, one after the other, the first waits.
    share = min(phase.walks_per_miss * phase.walks_apart / memory.walks_measured, MOST_SHARE)
    if memory.walks_by_region is not None:
        if memory.own_ns is None:
            share *= memory.walks_by_region.of_one(phase.walked_bytes, phase.translated_bytes)
        share *= _of_one_as_soon(memory, phase, near, share)
    return _walked(memory, round(share, 6))


@lru_cache(maxsize=1024)
def _of_one_as_soon(
    memory: MemoryCosts, phase: PhaseTraffic, near: MemoryCosts, share: float
) -> float:
    """Return what the phase's walks take over those of a chase of as much data, 0..1.

    `share` is what of the measured walks a miss takes if it comes back as late as a chase. The
    sooner it does, the quicker it goes on: a fixed point, come to from below.
    """
    both, regions = chases(near, memory), memory.walks_by_region
    lines = float(misses(phase.total) - phase.total[STREAM] - phase.total[STORE_STREAM])
    walks = (phase.walks_per_miss or 0.0) * phase.walks_apart * lines
    if both is None or regions is None or walks <= 0.0:
        return 1.0
    flow = both.flow_gb_per_s()

    def passed(size_bytes: float, each_ns: float) -> float:
        """Return bytes that come in until a line of the tables is wanted again, log2."""
        tables = size_bytes / REACH_BYTES
        return log2(tables * (LINES_BETWEEN * LINE_BYTES + flow * each_ns))

    sizes, latencies_ns = regions.region_bytes, regions.latencies_ns
    at = np.maximum.accumulate(list(map(passed, sizes, latencies_ns)))
    walks_ns = np.maximum.accumulate(regions.walks_ns)
    size_bytes = phase.walked_bytes if isfinite(phase.walked_bytes) else float(sizes[-1])
    size_bytes = max(size_bytes, PAGE_BYTES)
    chase_ns = memory.own_ns or float(np.interp(log2(size_bytes), np.log2(sizes), latencies_ns))
    late_ns = float(np.interp(passed(size_bytes, chase_ns), at, walks_ns))
    if late_ns <= 0.0:
        return 1.0
    near_ns = max(phase.near_time_ns.value, 1.0)
    in_flight = near.latency_ns * lines / near_ns

    def far_ns(found: float) -> float:
        there = _walked(memory, round(share * found, 6))
        return near_ns + lines * max(there.cost_ns(in_flight) - near.cost_ns(in_flight), 0.0)

    found = 0.0
    for _ in range(MOST_STEPS):
        # Threads that run at once share the caches: each comes back as soon as all of them do.
        each_ns = far_ns(found) / phase.concurrency / walks
        before = found
        found = min(float(np.interp(passed(size_bytes, each_ns), at, walks_ns)) / late_ns, 1.0)
        if found - before <= ENOUGH:
            break
    return found


@lru_cache(maxsize=1024)
def _walked(memory: MemoryCosts, share: float) -> MemoryCosts:
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

"""Page walks: a memory's costs for a program that walks less often than once a miss.

A chase over small pages waits for a page walk at nearly every miss, and so does its chains curve. A
search ends with several misses in one page, and a heap uses few pages: with the one curve they
would be predicted much too slow (a binary search 2.1 times instead of the measured 1.3). Where a
memory was measured with small and with large pages, the difference between the curves is the cost
of walks, and a program pays it in proportion to the walks per miss that its profile counts. A walk
takes less over less data, whose tables stay in caches: where chases over several regions were
measured with both page sizes, a program's walks take as long as those over a region of its size.

Next to a core that takes cache, a line of a page table is gone when it is needed again, and the
walk waits for memory, if it is needed late enough. A chase that waits 470 ns for each access
returns to a line after 1.4 ms, and its walks took 230 ns; a hash table whose misses overlap returns
after 0.2 ms, and with walks as long as the chase's it was predicted 2.1 times slower instead of the
measured 1.5. Chases over smaller regions return sooner, and show how long walks take then.
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

MAX_WALKS_PER_MISS = 1.5
"""Maximum of walks per miss: misses of the cache and of translations are counted separately, and
with few misses their ratio is chance."""

ENTRY_BYTES = 8.0
"""Size of a page table's entry for one page."""

REACH_BYTES = LINE_BYTES / ENTRY_BYTES * PAGE_BYTES
"""Size of the data that one line of a page table covers."""

LINES_PER_WALK = 2.0
"""Lines that each walk brings into the caches: one of a table, one of data."""

MAX_STEPS, TOLERANCE = 50, 1e-4
"""Steps of the fixed point of far time and walks, and the change of a walk's time at which it
ends."""


def as_walked(memory: MemoryCosts, phase: PhaseTraffic, near: MemoryCosts) -> MemoryCosts:
    """Return the memory's costs with the phase's walks; `memory` itself if walks are unknown."""
    if memory.unwalked_costs_ns is None or phase.walks_per_miss is None:
        return memory
    # A chase does not walk at every miss either: the TLB holds some of its pages. Of consecutive
    # walks to one line of a table, only the first waits.
    share = min(
        phase.walks_per_miss * phase.walks_apart / memory.walks_measured, MAX_WALKS_PER_MISS
    )
    if memory.region_walks is not None:
        if memory.program_chase_ns is None:
            share *= memory.region_walks.relative_walk(phase.walked_bytes, phase.translated_bytes)
        share *= _relative_walk(memory, phase, near, share)
    return _with_walk_share(memory, round(share, 6))


@lru_cache(maxsize=1024)
def _relative_walk(
    memory: MemoryCosts, phase: PhaseTraffic, near: MemoryCosts, share: float
) -> float:
    """Return the time of the phase's walks over those of a chase of as much data, 0..1.

    `share` is the part of the measured walks that a miss pays if it returns as late as a chase. The
    sooner it returns, the faster it continues: a fixed point, approached from below.
    """
    both, regions = chases(near, memory), memory.region_walks
    lines = float(misses(phase.total) - phase.total[STREAM] - phase.total[STORE_STREAM])
    walks = (phase.walks_per_miss or 0.0) * phase.walks_apart * lines
    if both is None or regions is None or walks <= 0.0:
        return 1.0
    flow = both.flow_gb_per_s()

    def passed(size_bytes: float, each_ns: float) -> float:
        """Return the bytes that come in until a line of the tables is needed again, log2."""
        tables = size_bytes / REACH_BYTES
        return log2(tables * (LINES_PER_WALK * LINE_BYTES + flow * each_ns))

    sizes, latencies_ns = regions.region_bytes, regions.latencies_ns
    at = np.maximum.accumulate(list(map(passed, sizes, latencies_ns)))
    walks_ns = np.maximum.accumulate(regions.walks_ns)
    size_bytes = phase.walked_bytes if isfinite(phase.walked_bytes) else float(sizes[-1])
    size_bytes = max(size_bytes, PAGE_BYTES)
    chase_ns = memory.program_chase_ns or float(
        np.interp(log2(size_bytes), np.log2(sizes), latencies_ns)
    )
    late_ns = float(np.interp(passed(size_bytes, chase_ns), at, walks_ns))
    if late_ns <= 0.0:
        return 1.0
    near_ns = max(phase.near_time_ns.value, 1.0)
    in_flight = near.latency_ns * lines / near_ns

    def far_ns(relative: float) -> float:
        walked = _with_walk_share(memory, round(share * relative, 6))
        return near_ns + lines * max(walked.cost_ns(in_flight) - near.cost_ns(in_flight), 0.0)

    relative = 0.0
    for _ in range(MAX_STEPS):
        # Threads that run at once share the caches: each returns as soon as all of them do.
        each_ns = far_ns(relative) / phase.concurrency / walks
        before = relative
        relative = min(float(np.interp(passed(size_bytes, each_ns), at, walks_ns)) / late_ns, 1.0)
        if relative - before <= TOLERANCE:
            break
    return relative


@lru_cache(maxsize=1024)
def _with_walk_share(memory: MemoryCosts, share: float) -> MemoryCosts:
    # Cached because `explain` caches by the memory's identity.
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

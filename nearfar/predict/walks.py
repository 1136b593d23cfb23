"""Page walks: costs for a program that walks more or less than the chase that measured them.

A chase over small pages waits for a page walk at nearly every miss, which its chains curve
includes. But a search ends with several misses in one page, and a heap soon returns to most of its
pages: by that curve, predictions would be too slow (a heap 1.54 times instead of the measured 1.2).
If a memory was measured with small and with large pages, the difference between the curves is the
cost of walks. The program's page touches determine how many walks it has and how long they take.

A walk is short if the program returns to the page soon: then its tables are still in a cache. The
profile's page curve counts touches by the size of the pages touched since the page's last touch.
Touches within the TLB's reach do not walk. The length of the other walks follows from chases over
regions of several sizes (`RegionWalks`). The touches from the longest distances are those of
misses, whose walks overlap as misses do. The others hit lines in a cache, and their walks wait as
hits do: a chase over one cached line of each page measures them. They are shorter than the walk of
a miss from the same distance, because table lines are needed again sooner.

Next to a core that takes cache, a line of a page table may be lost before its next use. A chase
that waits 470 ns for each access returns to a line after 1.4 ms, and its walks took 230 ns. A hash
table whose misses overlap returns after 0.2 ms; with walks as long as the chase's, its predicted
slowdown was 2.1 instead of the measured 1.5. So distances include the lines that such a core
brings in meanwhile.

If near pages are small, near curves have the walk of a chase at each miss, however often the
program walks. Far curves then keep a walk of the same length, and the program's own walks count
only with their additional time in far memory. Otherwise a program that hardly walks would be faster
in any far memory.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.predict.memory import MAX_TRANSLATED_SHARE, MemoryCosts
from nearfar.predict.shared_cache import chases
from nearfar.predict.traffic import STORE_STREAM, STREAM, Array, PhaseTraffic, misses

LINES_PER_WALK = 2.0
"""Lines that each walk brings into the caches: one of a table, one of data."""

MIN_WALK_NS = 1e-9
"""Smallest divisor of walk times."""

MAX_STEPS, TOLERANCE = 50, 1e-4
"""Steps of the fixed point of far time and walks, and the change of a walk's time at which it
ends."""


def as_walked(memory: MemoryCosts, phase: PhaseTraffic, near: MemoryCosts) -> MemoryCosts:
    """Return the memory's costs with the phase's walks; `memory` itself if walks are unknown."""
    if memory.unwalked_costs_ns is None or phase.walks_per_miss is None:
        return memory
    return _with_phase_walks(memory, phase, near)


@lru_cache(maxsize=1024)
def _with_phase_walks(memory: MemoryCosts, phase: PhaseTraffic, near: MemoryCosts) -> MemoryCosts:
    """Return the memory with the phase's walks.

    The sooner a program returns to a line of the tables, the fewer lines came in meanwhile, and the
    faster it continues: a fixed point, approached from below.
    """
    share = round(1.0 - _additional_share(memory, near), 6)
    walked = _with_walk_shares(memory, (share,) * len(memory.chain_counts))
    if phase.walks_per_miss == 0.0 or memory.walk_ns <= 0.0:
        return walked
    walks = _PhaseWalks(memory, phase, near)
    for _ in range(MAX_STEPS):
        before_ns = walked.walk_ns
        walked = walks.after(walks.far_ns(walked))
        if abs(walked.walk_ns - before_ns) <= TOLERANCE * memory.walk_ns:
            break
    return walked


def _additional_share(memory: MemoryCosts, near: MemoryCosts) -> float:
    """Return the part of a far walk that near curves do not include; 1 if near pages are large."""
    return max(1.0 - near.walk_ns / memory.walk_ns, 0.0) if memory.walk_ns > 0.0 else 1.0


class _PhaseWalks:
    """The walks of one phase in one memory."""

    def __init__(self, memory: MemoryCosts, phase: PhaseTraffic, near: MemoryCosts) -> None:
        assert phase.walks_per_miss is not None
        self._memory, self._phase, self._near = memory, phase, near
        total = phase.total
        self._lines = float(misses(total) - total[STREAM] - total[STORE_STREAM])
        self._walks = phase.walks_per_miss * self._lines
        if phase.page_touches is None:
            # The TLB's counts are too high where a program touches several lines of each page.
            self._walks = min(self._walks, self._lines)
        self._near_ns = max(phase.near_time_ns.value, 1.0)
        self._in_flight = near.latency_ns * self._lines / self._near_ns
        regions, reach = memory.region_walks, phase.translated_bytes
        self._hits_ns: Array | None = None
        if regions is None:
            self._ends, self._walks_ns = np.array([reach]), np.array([memory.walk_ns])
            self._size_bytes, self._chase_ns = phase.walked_bytes, memory.latency_ns
        else:
            self._ends, self._walks_ns = regions.by_distance(reach)
            if (hits_ns := regions.hits_by_distance(reach)) is not None:
                # With small pages, page tables take cache, so more lines of this chase miss. Such
                # misses are no walks.
                self._hits_ns = np.minimum(hits_ns, self._walks_ns)
            self._size_bytes = min(phase.walked_bytes, float(regions.region_bytes[-1]))
            self._chase_ns = float(regions.latencies_ns[-1])
        both = chases(near, memory)
        self._flow = 0.0 if both is None else both.flow_gb_per_s()
        self._additional_share = _additional_share(memory, near)
        own = memory.own_walks
        self._own = np.ones(len(memory.chain_counts)) if own is None else own
        self._chase_walks_ns = self._chase_walks()

    def far_ns(self, walked: MemoryCosts) -> float:
        """Return the approximate time of the phase with its misses in `walked`."""
        longer_ns = walked.cost_ns(self._in_flight) - self._near.cost_ns(self._in_flight)
        return self._near_ns + self._lines * max(longer_ns, 0.0)

    def after(self, far_ns: float) -> MemoryCosts:
        """Return the memory with the walks of a phase that takes `far_ns`."""
        # Threads share the caches: between two walks of one thread, the others walk too.
        each_ns = far_ns / self._phase.concurrency / self._walks
        farther = self._farther_than(self._ends / self._relative_distance(each_ns))
        # The first step has all walks, however short their distances are.
        farther[0] = self._walks
        apart = self._phase.walks_apart
        misses_ns = apart * self._time_ns(np.minimum(farther, self._lines), self._walks_ns)
        if self._hits_ns is None:
            every_ns = apart * self._time_ns(farther, self._walks_ns)
            hits_ns = float(self._own[0]) * (every_ns - misses_ns)
        else:
            hits_ns = apart * self._time_ns(self._walks_at_hits(), self._hits_ns)
        shares = self._own * misses_ns / self._lines / self._chase_walks_ns
        shares = 1.0 - self._additional_share * (1.0 - shares)
        return replace(
            _with_walk_shares(self._memory, tuple(shares.round(6).tolist())),
            hit_walks_ns=self._additional_share * hits_ns / float(misses(self._phase.total)),
        )

    def _farther_than(self, distances_bytes: Array) -> Array:
        """Return the walks from longer distances; without a page curve, touches are uniform."""
        touches = self._phase.page_touches
        if touches is not None:
            # Between two touches of a page by one thread, the others touch pages too.
            reach, *farther = touches.farther_than(
                np.append(self._ends[:1], distances_bytes) * self._phase.concurrency
            )
            return np.array(farther) * self._walks / max(float(reach), 1e-9)
        size_bytes = max(self._size_bytes, 1.0)
        if not np.isfinite(size_bytes):
            return np.full(len(distances_bytes), self._walks)
        reach = min(self._phase.translated_bytes, MAX_TRANSLATED_SHARE * size_bytes)
        left = np.clip((size_bytes - distances_bytes) / (size_bytes - reach), 0.0, 1.0)
        return np.asarray(self._walks * left)

    def _walks_at_hits(self) -> Array:
        """Return the walks at hits from longer distances: all but the farthest, those of misses.

        Unlike those of misses, distances are not shortened: the chase over pages returns as soon as
        hits do.
        """
        farther = self._farther_than(self._ends)
        farther[0] = self._walks
        return np.maximum(farther - self._lines, 0.0)

    def _chase_walks(self) -> Array:
        """Return the walk time of an access, ns, by number of concurrent chases.

        More chains return sooner to a line of the tables. A walk takes at least the time that it
        adds to an access.
        """
        memory, regions = self._memory, self._memory.region_walks
        if regions is None:
            return np.full(len(memory.chain_counts), memory.walk_ns)
        assert memory.unwalked_costs_ns is not None
        added_ns = memory.chain_costs_ns - memory.unwalked_costs_ns
        reach, size = self._phase.translated_bytes, float(regions.region_bytes[-1])
        walks = []
        for cost_ns in memory.chain_costs_ns:
            distances = self._ends / self._relative_distance(float(cost_ns))
            left = np.clip((size - distances) / max(size - reach, 1.0), 0.0, 1.0)
            left[0] = 1.0
            walks.append(self._time_ns(left, self._walks_ns))
        walks_ns = memory.walk_ns * np.array(walks) / max(walks[0], MIN_WALK_NS)
        return np.maximum(walks_ns, np.maximum(added_ns, MIN_WALK_NS))

    def _relative_distance(self, each_ns: float) -> float:
        """Return the bytes brought in between walks `each_ns` apart, relative to a chase, 0..1."""
        brought_bytes = LINES_PER_WALK * LINE_BYTES
        of_chase = brought_bytes + self._flow * self._chase_ns
        return min((brought_bytes + self._flow * each_ns) / of_chase, 1.0)

    def _time_ns(self, farther: Array, walks_ns: Array) -> float:
        """Return the total time of walks; `farther` counts the walks beyond each step's start."""
        return float((farther - np.append(farther[1:], 0.0)) @ walks_ns)


@lru_cache(maxsize=1024)
def _with_walk_shares(memory: MemoryCosts, shares: tuple[float, ...]) -> MemoryCosts:
    """Return the memory with these shares of its walk time, one for each number of chains."""
    # Cached because `explain` caches by the memory's identity.
    assert memory.unwalked_costs_ns is not None
    costs = memory.unwalked_costs_ns
    # Shares above 1 amplify the noise of the difference; costs never rise with the chains.
    costs = np.minimum.accumulate(costs + np.array(shares) * (memory.chain_costs_ns - costs))
    return replace(
        memory,
        chain_costs_ns=costs,
        latency_ns=float(costs[0]),
        walk_ns=memory.walk_ns * shares[0],
        unwalked_costs_ns=None,
    )

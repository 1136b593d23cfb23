"""Near time after a split: what near time contains of the waits that the split changes.

A profile shows how many lines, hits of the shared cache, page walks and starts of pages a split
saves or adds, but not how much of its time a program waits for each. Each has a cost between two
bounds:

- at least: other work hides it, because prefetchers and the core's window are far enough ahead. A
  chase waits, but as many chases may run at once as the core can have
- at most: nothing hides it. A miss waits as long as near time allows (the model `inversion`). A
  line of a sequence waits as if no prefetcher fetched it, but as many at once as the core can have.
  At the start of each page, where prefetchers stop, it waits for latency and a page walk
- likely: misses overlap as their class suggests, if near time allows; sequences are as fast as
  those that were measured, except at the starts of pages

What a split saves lies between the least and the most that its waits may cost, never more than near
time holds. What it adds is counted at most where savings are counted at least, and the reverse, so
the ends of the interval need no assumption about what belongs together.
"""

from __future__ import annotations

import numpy as np

from nearfar.base.estimate import Estimate
from nearfar.base.units import LINE_BYTES, PAGE_BYTES
from nearfar.documents import WorkloadProfile
from nearfar.place.split_profile import BothWaits
from nearfar.place.split_traffic import Waits
from nearfar.predict.core_time import INDEPENDENT_PRIOR, Overlap
from nearfar.predict.device_figures import latencies_by_region
from nearfar.predict.memory import MAX_CHAINS, MemoryCosts
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.phases import phases_of
from nearfar.predict.shared_cache import MIN_REGIONS, last_hit_ns
from nearfar.predict.traffic import (
    CHASE,
    INDEPENDENT,
    STORE,
    Array,
    PhaseTraffic,
    streamed,
    write_backs,
)

LINES_PER_PAGE = PAGE_BYTES / LINE_BYTES

Costs = tuple[float, float, float]
"""Likely, least and greatest time of one wait, ns."""


class NearTimes:
    """Near time of each phase after a split."""

    def __init__(self, before: WorkloadProfile, near: MemoryCosts) -> None:
        """Explain the near time without the split."""
        self._models = [InversionModel(phase, near, near) for phase in phases_of(before)]

    def after(self, profile: WorkloadProfile, waits: list[BothWaits]) -> list[Estimate]:
        """Return each phase's near time after the split, ns, between its bounds."""
        return [
            _near_time(
                model,
                _counts(model.phase, both.before, model.near),
                _counts(traffic, both.after, model.near),
            )
            for model, traffic, both in zip(self._models, phases_of(profile), waits, strict=True)
        ]


def _near_time(model: InversionModel, before: Array, after: Array) -> Estimate:
    """Return near time after a split, given the number of waits of each kind before and after."""
    time_ns = model.phase.near_time_ns.value
    costs = np.array(_costs(model)).T
    likely, least, most = (each * _possible(each, before, time_ns) for each in costs)
    fewer, more = np.maximum(before - after, 0.0), np.maximum(after - before, 0.0)
    saved_ns = float(fewer @ likely - more @ likely)
    # Near time does not limit the waits that a split adds.
    least_ns = float(fewer @ least - more @ costs[2])
    most_ns = float(fewer @ most - more @ least)
    low, value, high = (max(time_ns - saved, 0.0) for saved in (most_ns, saved_ns, least_ns))
    return Estimate(value, min(low, value), max(high, value))


def _possible(costs: Array, counts: Array, time_ns: float) -> float:
    """Return the factor on costs at which all waits before the split fit into near time."""
    waits_ns = float(counts @ costs)
    return min(1.0, time_ns / waits_ns) if waits_ns > 0.0 else 1.0


def _counts(phase: PhaseTraffic, waits: Waits, near: MemoryCosts) -> Array:
    """Return the number of waits by kind, in the order of `_costs`.

    Hits and page walks are those of the object that is split: others keep theirs.
    """
    total = phase.total
    at_random = float(total[CHASE] + total[INDEPENDENT] + total[STORE])
    walks = waits.walks if near.page_bytes is None or near.page_bytes <= PAGE_BYTES else 0.0
    if near.walk_ns > 0.0:
        # Each miss outside sequences already includes one.
        walks -= waits.at_random
    walks = max(0.0, walks)
    serial = float(total[CHASE]) / at_random if at_random else 0.0
    return np.array(
        [
            total[CHASE],
            total[INDEPENDENT],
            total[STORE],
            max(0.0, streamed(total) - waits.pages),
            waits.pages,
            float(write_backs(total)),
            serial * waits.hits,
            (1.0 - serial) * waits.hits,
            serial * walks,
            (1.0 - serial) * walks,
        ]
    )


def _costs(model: InversionModel) -> list[Costs]:
    """Return the costs of each kind of wait."""
    near, explained = model.near, model.explanation
    slowest = explained.overlap
    likely = Overlap(slowest.chase, max(slowest.independent, INDEPENDENT_PRIOR))
    best_ns = near.cost_ns(MAX_CHAINS)
    hit_ns = _last_level_ns(near)
    walk_ns = near.walk_ns or hit_ns
    dearer = 1.0 + near.latency_error

    def shared(ns: float, most_ns: float, chase: bool) -> Costs:
        """Return the costs of a wait that overlaps as misses of its class do."""
        fast, slow = ((each.chase if chase else each.independent) for each in (likely, slowest))
        return ns / fast, ns / MAX_CHAINS if chase else 0.0, dearer * most_ns / slow

    independent_ns = dearer * near.cost_ns(slowest.independent)
    line_ns = near.stream_ns(explained.streams.at_once, explained.streams.count)
    ends_ns = near.page_ends_ns
    if not explained.streams.prefetched:
        line_ns, ends_ns = near.cost_ns(likely.independent), 0.0
    alone_ns = max(line_ns, best_ns)
    start_ns = ends_ns * LINES_PER_PAGE if near.chains_measured else near.unwalked_ns
    written_ns = near.write_ns[1]
    return [
        (near.cost_ns(likely.chase), best_ns, dearer * near.cost_ns(slowest.chase)),
        (near.cost_ns(likely.independent), 0.0, independent_ns),
        (best_ns, 0.0, independent_ns),
        (max(line_ns - ends_ns, 0.0), 0.0, dearer * alone_ns),
        (start_ns + walk_ns, 0.0, dearer * (near.unwalked_ns + near.latency_ns)),
        (written_ns, 0.0, max(written_ns, alone_ns)),
        shared(hit_ns, hit_ns, chase=True),
        shared(hit_ns, hit_ns, chase=False),
        shared(walk_ns, near.latency_ns, chase=True),
        shared(walk_ns, near.latency_ns, chase=False),
    ]


def _last_level_ns(near: MemoryCosts) -> float:
    """Return the latency of the last cache before memory, ns: measured, or the core's figure."""
    latencies = latencies_by_region(near.device, near.page_bytes)
    if len(latencies) >= MIN_REGIONS:
        return last_hit_ns(np.array([latencies[size] for size in sorted(latencies)]))
    first, last = near.core.first_level_cycles, near.core.last_level_cycles
    assert first is not None and last is not None  # the core is complete
    return near.hit_ns * last.value / first.value

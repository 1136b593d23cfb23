"""What a contending core leaves of the shared cache: lines that miss far, and did not near.

Beside a core that stores without end, a chase over 3 MiB took 15 ns near and 130 ns far: what one
core gets of the last-level cache is not what it gets alone, and a program that lives in that cache
(a skip list, trees) slows down more than its misses near explain. A chase over R bytes reuses each
line after R bytes, so its latency says what an access waits that finds its line at that distance
and after that time; the profile's curve says how many accesses do (see `taken_cache`). Both curves
over both memories give the waits.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from nearfar.devices import curves
from nearfar.documents.device import DeviceProfile
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.taken_cache import CACHED, Chases, TakenCache, last_hit_ns
from nearfar.predict.traffic import STORE_STREAM, STREAM, PhaseMissCurve, PhaseTraffic, misses

MOST_STEPS, ENOUGH = 50, 1e-4
"""Of the search for a slowdown and the lines that it leaves; the latter as a share of misses."""

FEWEST_REGIONS = 3
"""A latency within caches, one of the last level, one of memory: fewer tell nothing apart."""


def lines_far(phase: PhaseTraffic, near: MemoryCosts, far: MemoryCosts) -> float:
    """Return misses with everything far over those near, at least 1; 1 where caches are alike."""
    return _lines_and_waits(phase, near, far)[0]


def waits_far(phase: PhaseTraffic, near: MemoryCosts, far: MemoryCosts) -> float:
    """Return lines far over those near, counted in waits of such as miss near, at least 1.

    Hits that would take longer than near time, one after the other and beside the misses, did not
    come one after the other: where they miss, they overlap as much more than the misses do.
    """
    return _lines_and_waits(phase, near, far)[1]


@lru_cache(maxsize=1024)
def chases(near: MemoryCosts, far: MemoryCosts) -> Chases | None:
    """Return the chases in both memories; None where no other core loads the far one, or where they
    do not tell hits from misses.
    """
    if far.is_near or not contended(far.device):
        return None
    here, there = _latencies(near), _latencies(far)
    regions = sorted(here.keys() & there.keys())
    if len(regions) < FEWEST_REGIONS:
        return None
    found = Chases(
        np.array(regions, dtype=float),
        np.array([here[size] for size in regions]),
        np.array([there[size] for size in regions]),
        far.unwalked_ns,
    )
    return found if found.tell() else None


@lru_cache(maxsize=1024)
def _lines_and_waits(
    phase: PhaseTraffic, near: MemoryCosts, far: MemoryCosts
) -> tuple[float, float]:
    lines = float(misses(phase.total))
    if phase.curve is None or lines <= 0.0 or (both := chases(near, far)) is None:
        return 1.0, 1.0
    time_ns = max(phase.near_time_ns.value, 1.0)
    taken = TakenCache(phase.curve, both, time_ns / phase.concurrency)
    missing_ns = lines * near.latency_ns
    of_misses = max(missing_ns / time_ns, 1.0)
    of_all = max((missing_ns + farther_hits_ns(phase, near)) / time_ns, 1.0)
    longer_ns = lines * max(far.cost_ns(of_all) - near.cost_ns(of_all), 0.0)
    # From above: a program begins with nothing in the cache, as slow as if all of it were taken.
    more = taken.most()
    for _ in range(MOST_STEPS):
        before = more
        more = taken.lines(1.0 + (longer_ns + more * far.cost_ns(of_all)) / time_ns)
        if abs(more - before) <= ENOUGH * lines:
            break
    more /= lines
    return 1.0 + more, 1.0 + more * min(far.cost_ns(of_all) / far.cost_ns(of_misses), 1.0)


def farther_hits_ns(phase: PhaseTraffic, near: MemoryCosts) -> float:
    """Return what hits beyond the first-level cache take longer than hits in it, ns in all.

    Of hits beside streams nothing: a prefetcher brings these.
    """
    total = phase.total
    lines, latencies = float(misses(total)), _latencies(near)
    if phase.curve is None or lines <= 0.0 or len(latencies) < FEWEST_REGIONS:
        return 0.0
    regions = np.array(sorted(latencies), dtype=float)
    near_ns = np.array([latencies[int(size)] for size in regions])
    if near_ns[near_ns < CACHED * near_ns[-1]].size == 0:
        return 0.0
    longer_ns = np.maximum(np.minimum(near_ns, last_hit_ns(near_ns)) - near.hit_ns, 0.0)
    inside = PhaseMissCurve(
        phase.curve.sizes_bytes,
        np.maximum(phase.curve.misses - phase.curve.at(phase.curve.here_bytes), 0.0),
        phase.curve.here_bytes,
    )
    streamed = float(total[STREAM] + total[STORE_STREAM]) / lines
    each_ns = np.interp(inside.log_distances, np.log2(regions), longer_ns)
    return float(inside.accesses @ each_ns) * (1.0 - streamed)


def contended(device: DeviceProfile) -> bool:
    """Say whether another core loaded the memory while it was measured: it took cache as well."""
    return device.measured is not None and "load=" in device.measured.memory_spec


def _latencies(memory: MemoryCosts) -> dict[int, float]:
    """Return latencies by region, with the memory's own pages where those were measured."""
    found = [
        figure for figure in curves.random_reads(memory.device) if figure.region_bytes is not None
    ]
    own = [figure for figure in found if figure.page_bytes == memory.page_bytes]
    return {
        figure.region_bytes: figure.value_ns
        for figure in own or found
        if figure.region_bytes is not None
    }

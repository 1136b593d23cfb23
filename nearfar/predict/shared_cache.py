"""What a contending core leaves of the shared cache: lines that miss far, and did not near.

Beside a core that stores without end, a chase over 3 MiB took 15 ns near and 130 ns far: what one
core gets of the last-level cache is not what it gets alone, and a program that lives in that cache
(a skip list, trees) slows down more than its misses near explain. A chase over R bytes reuses each
line after R bytes, so its latency says what an access waits that finds its line at that distance;
the profile's curve says how many accesses do. Both curves over both memories give the waits.
"""

from __future__ import annotations

import numpy as np

from nearfar.documents.device import DeviceProfile
from nearfar.predict.memory import Memory
from nearfar.predict.traffic import STORE_STREAM, STREAM, Array, Curve, PhaseTraffic, misses

CACHED = 0.25
"""Of memory's latency, below which a near chase is one of hits: last levels take 10 to 25 ns."""

FEWEST_REGIONS = 3
"""A latency within caches, one of the last level, one of memory: fewer tell nothing apart."""


def lines_far(phase: PhaseTraffic, near: Memory, far: Memory) -> float:
    """Return misses with everything far over those near, at least 1; 1 where caches are alike."""
    lines = float(misses(phase.total))
    if phase.curve is None or lines <= 0.0 or far.is_near or not contended(far.device):
        return 1.0
    here, there = _latencies(near), _latencies(far)
    regions = sorted(here.keys() & there.keys())
    if len(regions) < FEWEST_REGIONS:
        return 1.0
    more = _waits(
        np.array([here[size] for size in regions]), np.array([there[size] for size in regions])
    )
    return 1.0 + _lines(phase.curve, np.log2(np.array(regions, dtype=float)), more) / lines


def waits_far(phase: PhaseTraffic, near: Memory, far: Memory) -> float:
    """Return lines far over those near, counted in waits of such as miss near, at least 1.

    Hits that would take longer than near time, one after the other and beside the misses, did not
    come one after the other: where they miss, they overlap as much more than the misses do.
    """
    lines, more = float(misses(phase.total)), lines_far(phase, near, far) - 1.0
    if more <= 0.0:
        return 1.0
    time_ns = max(phase.near_time_ns.value, 1.0)
    missing_ns = lines * near.latency_ns
    of_misses = max(missing_ns / time_ns, 1.0)
    of_all = (missing_ns + farther_hits_ns(phase, near)) / time_ns
    return 1.0 + more * min(far.cost_ns(of_all) / far.cost_ns(of_misses), 1.0)


def farther_hits_ns(phase: PhaseTraffic, near: Memory) -> float:
    """Return what hits beyond the first-level cache take longer than hits in it, ns in all.

    Of hits beside streams nothing: a prefetcher brings these.
    """
    total = phase.total
    lines, latencies = float(misses(total)), _latencies(near)
    if phase.curve is None or lines <= 0.0 or len(latencies) < FEWEST_REGIONS:
        return 0.0
    regions = np.array(sorted(latencies), dtype=float)
    near_ns = np.array([latencies[int(size)] for size in regions])
    hits_ns = near_ns[near_ns < CACHED * near_ns[-1]]
    if not len(hits_ns):
        return 0.0
    longer_ns = np.maximum(np.minimum(near_ns, hits_ns[-1]) - near.hit_ns, 0.0)
    inside = Curve(
        phase.curve.sizes_bytes,
        np.maximum(phase.curve.misses - phase.curve.at(phase.curve.here_bytes), 0.0),
        phase.curve.here_bytes,
    )
    streamed = float(total[STREAM] + total[STORE_STREAM]) / lines
    return _lines(inside, np.log2(regions), longer_ns) * (1.0 - streamed)


def contended(device: DeviceProfile) -> bool:
    """Say whether another core loaded the memory while it was measured: it took cache as well."""
    return device.measured is not None and "load=" in device.measured.memory_spec


def _latencies(memory: Memory) -> dict[int, float]:
    """Return latencies by region, with the memory's own pages where those were measured."""
    found = [
        figure
        for figure in memory.device.latency
        if figure.operation == "read"
        and figure.pattern == "random"
        and figure.region_bytes is not None
    ]
    own = [figure for figure in found if figure.page_bytes == memory.page_bytes]
    return {
        figure.region_bytes: figure.value_ns
        for figure in own or found
        if figure.region_bytes is not None
    }


def _waits(near_ns: Array, far_ns: Array) -> Array:
    """Return by region which share of a miss is waited for far and not near, 0..1."""
    hits_ns = near_ns[near_ns < CACHED * near_ns[-1]]
    hit_ns = hits_ns[-1] if len(hits_ns) else near_ns[0]
    near, far = (np.clip((ns - hit_ns) / (ns[-1] - hit_ns), 0.0, 1.0) for ns in (near_ns, far_ns))
    # A hit's own time is in near time, and stays there.
    return np.asarray(np.maximum(far - near, 0.0) * (1.0 - hit_ns / far_ns[-1]))


def _lines(curve: Curve, distances: Array, shares: Array) -> float:
    """Return the sum of accesses by reuse distance (log2 of bytes), times these shares."""
    bins = np.maximum(-np.diff(curve.misses), 0.0)
    middles = np.log2(curve.sizes_bytes[:-1] * curve.sizes_bytes[1:]) / 2.0
    return float(bins @ np.interp(middles, distances, shares))

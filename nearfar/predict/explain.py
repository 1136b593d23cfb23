"""Near time explained: which parallelism accounts for it, and what memory does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.predict.core_time import core_time_ns
from nearfar.predict.memory import LoadedFactor, MemoryCosts
from nearfar.predict.model import NO_PERTURBATION
from nearfar.predict.overlap import (
    BY_CLASSES,
    MAX_OVERLAP,
    MIN_OVERLAP,
    Overlap,
    overlap_at,
    stream_fetch,
    traffic_time,
)
from nearfar.predict.shared_cache import farther_hits_ns
from nearfar.predict.traffic import HITS, Array, PhaseTraffic, misses, read_share, write_backs

MOST_HIT_SHARE = 1.0 / 3.0
"""Of near time, hits take at most this: an out-of-order core overlaps most of them."""

SOLVER_STEPS = 30
"""Halvings of the factor's range of 2^9: to 1e-8, past what any count knows."""

OTHER_THREADS = 1.05
"""Concurrency above which other threads' traffic is worth a loaded latency."""


@dataclass(frozen=True)
class Explanation:
    """What near time says of a phase; the same for every far memory."""

    overlap: Overlap
    near_factor: float
    """Loaded over idle latency of the near memory, as it was drawn upon."""
    scale: float
    """Below 1 where the phase ran faster than the near curves allow; they are off by this."""
    other_ns: float
    """Near time beside waiting for loads: it stays, wherever the data goes."""


@lru_cache(maxsize=512)
def explain(
    phase: PhaseTraffic,
    near: MemoryCosts,
    *,
    near_time: float = 1.0,
    lines: float = 1.0,
    hits: float = 1.0,
    by_classes: bool = False,
    near_curves_hold: bool = False,
    streams_share: float = NO_PERTURBATION.streams_share,
) -> Explanation:
    """Explain the phase's near time; the factors multiply near time, counts, and hit time.

    Kept (by identity of phase and memory) because 50 far memories ask the same.
    """
    total = phase.total * lines
    streams = stream_fetch(phase, near, streams_share)
    time_ns = phase.near_time_ns.value * near_time
    if float(misses(total) + write_backs(total)) == 0.0 or time_ns <= 0.0:
        return Explanation(BY_CLASSES, 1.0, 1.0, time_ns)
    factor = near_load_factor(phase, near, total, time_ns)

    def spent(overlapped: Overlap, other_ns: float) -> float:
        near_part = traffic_time(total, near, overlapped, streams, phase.concurrency)
        return float(core_time_ns(other_ns, [near_part], [factor]))

    def rest(overlapped: Overlap) -> float:
        return _other_ns(lambda other_ns: spent(overlapped, other_ns), time_ns)

    if by_classes:
        memory_ns = spent(BY_CLASSES, 0.0)
        # Where misses could take all the time, the classes are judged by their ratio of far to
        # near: if their near time is wrong, so is the far, alike. Where even serial misses
        # could not, the rest is no memory time, whatever the classes say.
        if spent(overlap_at(MIN_OVERLAP), 0.0) >= time_ns or memory_ns >= time_ns:
            return Explanation(BY_CLASSES, factor, time_ns / memory_ns, 0.0)
        return Explanation(BY_CLASSES, factor, 1.0, rest(BY_CLASSES))
    # A hit is taken to lie on the path from one miss to the next, as it does in a search.
    farther_ns = farther_hits_ns(phase, near) * lines * hits
    hit_ns = float(total[HITS]) * near.hit_ns * hits + farther_ns
    between = min(hit_ns, MOST_HIT_SHARE * time_ns)
    overlapping = _solve(lambda x: spent(overlap_at(x), between), time_ns)
    if farther_ns > between:
        # Such hits did not come one after the other, and misses among them overlapped as they did.
        serial_ns = spent(overlap_at(MIN_OVERLAP), 0.0)

        def together(x: float) -> float:
            return spent(overlap_at(x), farther_ns * spent(overlap_at(x), 0.0) / serial_ns)

        overlapping = max(overlapping, _solve(together, time_ns))
    found = overlap_at(overlapping)
    if spent(found, 0.0) < time_ns:
        return Explanation(found, factor, 1.0, rest(found))
    scale = 1.0 if near_curves_hold else time_ns / spent(found, 0.0)
    return Explanation(found, factor, scale, 0.0)


def load_curve(phase: PhaseTraffic, memory: MemoryCosts) -> LoadedFactor | None:
    """Return the loaded-latency curve where it adds to what the chains curve knows."""
    if memory.chains_measured and phase.concurrency <= OTHER_THREADS:
        return None
    return memory.loaded_latency(read_share(phase.total))


def drawn_gb_per_s(
    phase: PhaseTraffic, memory: MemoryCosts, lines: Array, time_ns: Array | float
) -> Array:
    """Return the drawn bandwidth that makes latency rise, GB/s, at a CPU time of the phase.

    A measured chains curve holds its own core's load: only the other threads' comes on top.
    """
    moved_bytes = (misses(lines) + write_backs(lines)) * LINE_BYTES
    threads = phase.concurrency - (1.0 if memory.chains_measured else 0.0)
    return np.asarray(moved_bytes / np.maximum(time_ns, 1.0) * max(threads, 0.0))


def near_load_factor(phase: PhaseTraffic, near: MemoryCosts, total: Array, time_ns: float) -> float:
    """Return loaded over idle latency of near memory during the measured phase."""
    curve = load_curve(phase, near)
    if curve is None:
        return 1.0
    return float(curve.at(drawn_gb_per_s(phase, near, total, time_ns)))


def _other_ns(spent: Callable[[float], float], time_ns: float) -> float:
    """Return the time beside memory at which all takes `time_ns`; `spent(0)` takes less."""
    low, high = 0.0, time_ns
    for _ in range(SOLVER_STEPS):
        middle = (low + high) / 2
        if spent(middle) > time_ns:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def _solve(explained: Callable[[float], float], target_ns: float) -> float:
    """Return the greatest overlap factor at which memory explains at least `target_ns`."""
    if explained(MIN_OVERLAP) <= target_ns:
        return MIN_OVERLAP
    if explained(MAX_OVERLAP) >= target_ns:
        return MAX_OVERLAP
    low, high = math.log2(MIN_OVERLAP), math.log2(MAX_OVERLAP)
    for _ in range(SOLVER_STEPS):
        middle = (low + high) / 2
        if explained(2.0**middle) > target_ns:
            low = middle
        else:
            high = middle
    return float(2.0**high)

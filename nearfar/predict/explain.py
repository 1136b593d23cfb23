"""Near time explained: which parallelism accounts for it, and what memory does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nearfar.predict.memory import LoadedFactor, Memory
from nearfar.predict.overlap import (
    BY_CLASSES,
    LEAST_FACTOR,
    MOST_FACTOR,
    Overlap,
    memory_time_ns,
    overlap,
    part,
)
from nearfar.predict.traffic import (
    HITS,
    LINE_BYTES,
    Array,
    PhaseTraffic,
    misses,
    read_share,
    write_backs,
)

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
    """Near time that memory does not explain: it stays, wherever the data goes."""


@lru_cache(maxsize=512)
def explain(
    phase: PhaseTraffic,
    near: Memory,
    *,
    near_time: float = 1.0,
    lines: float = 1.0,
    hits: float = 1.0,
    by_classes: bool = False,
    near_curves_hold: bool = False,
) -> Explanation:
    """Explain the phase's near time; the factors multiply near time, counts, and hit time.

    Kept (by identity of phase and memory) because 50 far memories ask the same.
    """
    total = phase.total * lines
    time_ns = phase.near_time_ns.value * near_time
    if float(misses(total) + write_backs(total)) == 0.0 or time_ns <= 0.0:
        return Explanation(BY_CLASSES, 1.0, 1.0, time_ns)
    factor = near_load_factor(phase, near, total, time_ns)

    def explained(overlapped: Overlap) -> float:
        near_part = part(total, near, overlapped, phase.concurrency)
        return float(memory_time_ns([near_part], [factor]))

    if by_classes:
        memory_ns = explained(BY_CLASSES)
        # Where misses could take all the time, the classes are judged by their ratio of far to
        # near: if their near time is wrong, so is the far, alike. Where even serial misses
        # could not, the rest is no memory time, whatever the classes say.
        by_ratio = explained(overlap(LEAST_FACTOR)) >= time_ns
        scale = time_ns / memory_ns if by_ratio else min(1.0, time_ns / memory_ns)
        return Explanation(BY_CLASSES, factor, scale, time_ns - scale * memory_ns)
    # A hit is taken to lie on the path from one miss to the next, as it does in a search.
    between = min(float(total[HITS]) * near.hit_ns * hits, MOST_HIT_SHARE * time_ns)
    found = overlap(_solve(lambda x: explained(overlap(x)), time_ns - between))
    memory_ns = explained(found)
    scale = 1.0 if near_curves_hold else min(1.0, time_ns / memory_ns)
    return Explanation(found, factor, scale, max(0.0, time_ns - scale * memory_ns))


def load_curve(phase: PhaseTraffic, memory: Memory) -> LoadedFactor | None:
    """Return the loaded-latency curve where it adds to what the chains curve knows."""
    if memory.chains_measured and phase.concurrency <= OTHER_THREADS:
        return None
    return memory.loaded_latency(read_share(phase.total))


def drawn_gb_per_s(
    phase: PhaseTraffic, memory: Memory, lines: Array, time_ns: Array | float
) -> Array:
    """Return the drawn bandwidth that makes latency rise, GB/s, at a CPU time of the phase.

    A measured chains curve holds its own core's load: only the other threads' comes on top.
    """
    moved_bytes = (misses(lines) + write_backs(lines)) * LINE_BYTES
    threads = phase.concurrency - (1.0 if memory.chains_measured else 0.0)
    return np.asarray(moved_bytes / np.maximum(time_ns, 1.0) * max(threads, 0.0))


def near_load_factor(phase: PhaseTraffic, near: Memory, total: Array, time_ns: float) -> float:
    """Return loaded over idle latency of near memory during the measured phase."""
    curve = load_curve(phase, near)
    if curve is None:
        return 1.0
    return float(curve.at(drawn_gb_per_s(phase, near, total, time_ns)))


def _solve(explained: Callable[[float], float], target_ns: float) -> float:
    """Return the greatest overlap factor at which memory explains at least `target_ns`."""
    if explained(LEAST_FACTOR) <= target_ns:
        return LEAST_FACTOR
    if explained(MOST_FACTOR) >= target_ns:
        return MOST_FACTOR
    low, high = math.log2(LEAST_FACTOR), math.log2(MOST_FACTOR)
    for _ in range(SOLVER_STEPS):
        middle = (low + high) / 2
        if explained(2.0**middle) > target_ns:
            low = middle
        else:
            high = middle
    return float(2.0**high)

"""Near time explained: the parallelism of misses, and the part that is not memory time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.predict.core_time import (
    BY_CLASSES,
    MAX_OVERLAP,
    MIN_OVERLAP,
    Overlap,
    core_time_ns,
    overlap_at,
    stream_fetch,
    traffic_time,
)
from nearfar.predict.loaded_latency import LoadedFactor
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import NO_PERTURBATION
from nearfar.predict.shared_cache import farther_hits_ns
from nearfar.predict.traffic import HITS, Array, PhaseTraffic, misses, read_share, write_backs

MAX_HIT_SHARE = 1.0 / 3.0
"""Maximum share of near time that hits take: an out-of-order core overlaps most of them."""

MIN_SCALE = 0.7
"""Near time over what the near curves allow, below which they do not fit this program: simulated
parallelism was wrong beyond 0.7 to 1.4."""

BISECTION_STEPS = 30
"""Halvings of the factor's range of 2^9: to 1e-8, more precise than any count."""

MIN_LOADED_CONCURRENCY = 1.05
"""Concurrency above which other threads' traffic makes a loaded latency matter."""


@dataclass(frozen=True)
class Explanation:
    """Result of explaining a phase's near time; the same for every far memory."""

    overlap: Overlap
    near_factor: float
    """Loaded over idle latency of near memory at the bandwidth drawn."""
    scale: float
    """Near time over what the near curves allow, where it is shorter; else 1."""
    other_ns: float
    """Near time besides waiting for loads: it stays, wherever the data goes."""


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

    Cached by identity of phase and memory, because 50 far memories need the same.
    """
    total = phase.total * lines
    time_ns = phase.near_time_ns.value * near_time
    if float(misses(total) + write_backs(total)) == 0.0 or time_ns <= 0.0:
        return Explanation(BY_CLASSES, 1.0, 1.0, time_ns)
    factor = near_load_factor(phase, near, total, time_ns)
    streams = stream_fetch(phase, near, streams_share)

    def core_ns(overlap: Overlap, other_ns: float) -> float:
        near_part = traffic_time(total, near, overlap, streams, phase.concurrency)
        return float(core_time_ns(other_ns, [near_part], [factor]))

    if by_classes:
        return _by_classes(core_ns, factor, time_ns)
    # A hit is assumed to lie on the path from one miss to the next, as it does in a search.
    farther_ns = farther_hits_ns(phase, near) * lines * hits
    hit_ns = float(total[HITS]) * near.hit_ns * hits + farther_ns
    between = min(hit_ns, MAX_HIT_SHARE * time_ns)
    overlap_factor = _solve_overlap(lambda x: core_ns(overlap_at(x), between), time_ns)
    if farther_ns > between:
        # Such hits were not serial, and misses among them overlapped as they did.
        serial_ns = core_ns(overlap_at(MIN_OVERLAP), 0.0)

        def with_hits_ns(x: float) -> float:
            return core_ns(overlap_at(x), farther_ns * core_ns(overlap_at(x), 0.0) / serial_ns)

        overlap_factor = max(overlap_factor, _solve_overlap(with_hits_ns, time_ns))
    overlap = overlap_at(overlap_factor)
    memory_ns = core_ns(overlap, 0.0)
    if memory_ns < time_ns:
        other_ns = _solve_other_ns(lambda other_ns: core_ns(overlap, other_ns), time_ns)
        return Explanation(overlap, factor, 1.0, other_ns)
    scale = 1.0 if near_curves_hold else time_ns / memory_ns
    return Explanation(overlap, factor, scale, 0.0)


def _by_classes(
    core_ns: Callable[[Overlap, float], float], factor: float, time_ns: float
) -> Explanation:
    """Explain near time with the overlap of the access classes alone.

    Where misses could take all the time, the classes are judged by their ratio of far to near: an
    error of their near time is an equal error of their far time. Where even serial misses could
    not, the remainder is not memory time, whatever the classes say.
    """
    memory_ns = core_ns(BY_CLASSES, 0.0)
    if core_ns(overlap_at(MIN_OVERLAP), 0.0) >= time_ns or memory_ns >= time_ns:
        return Explanation(BY_CLASSES, factor, time_ns / memory_ns, 0.0)
    other_ns = _solve_other_ns(lambda other_ns: core_ns(BY_CLASSES, other_ns), time_ns)
    return Explanation(BY_CLASSES, factor, 1.0, other_ns)


def beaten_curves(phases: Sequence[PhaseTraffic], near: MemoryCosts) -> list[str]:
    """Return a warning where a phase ran faster than the near memory's figures allow."""
    beaten = [
        f"{phase.name} by {1.0 - scale:.0%}"
        for phase in phases
        if (scale := explain(phase, near).scale) < MIN_SCALE
    ]
    if not beaten:
        return []
    return [
        f"near time is shorter than the figures of {near.device.name} allow ({', '.join(beaten)}): "
        "caches or prefetchers do more than the misses show, or the figures are another machine's"
    ]


def load_curve(phase: PhaseTraffic, memory: MemoryCosts) -> LoadedFactor | None:
    """Return the loaded-latency curve where it adds to what the chains curve includes."""
    if memory.chains_measured and phase.concurrency <= MIN_LOADED_CONCURRENCY:
        return None
    return memory.loaded_latency(read_share(phase.total))


def drawn_gb_per_s(
    phase: PhaseTraffic, memory: MemoryCosts, lines: Array, time_ns: Array | float
) -> Array:
    """Return the drawn bandwidth that makes latency rise, GB/s, at a CPU time of the phase.

    A measured chains curve includes the load of its core: only the other threads' is added.
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


def _solve_other_ns(core_ns: Callable[[float], float], time_ns: float) -> float:
    """Return the time besides memory at which all takes `time_ns`; `core_ns(0)` is less."""
    low, high = 0.0, time_ns
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        if core_ns(middle) > time_ns:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def _solve_overlap(core_ns: Callable[[float], float], time_ns: float) -> float:
    """Return the greatest overlap factor at which memory explains at least `time_ns`."""
    if core_ns(MIN_OVERLAP) <= time_ns:
        return MIN_OVERLAP
    if core_ns(MAX_OVERLAP) >= time_ns:
        return MAX_OVERLAP
    low, high = math.log2(MIN_OVERLAP), math.log2(MAX_OVERLAP)
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        if core_ns(2.0**middle) > time_ns:
            low = middle
        else:
            high = middle
    return float(2.0**high)

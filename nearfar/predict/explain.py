"""Near time explained: which parallelism accounts for it, and what memory does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from nearfar.predict.computing import computing_ns
from nearfar.predict.core_time import core_time_ns
from nearfar.predict.memory import LoadedFactor, Memory
from nearfar.predict.model import NO_DOUBT
from nearfar.predict.overlap import (
    BY_CLASSES,
    LEAST_FACTOR,
    MOST_FACTOR,
    Overlap,
    Streams,
    overlap,
    part,
    streams_of,
)
from nearfar.predict.shared_cache import farther_hits_ns
from nearfar.predict.traffic import (
    HITS,
    LINE_BYTES,
    STORE_STREAM,
    STREAM,
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

MOSTLY_STREAMS = 0.9
"""Of all misses: what others take is known less well than what the core computes."""

MOST_SLOWER = 3.0
"""Than the streams that were measured; beyond, the core does what nobody has seen."""

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
    slower: float = 1.0
    """What a line of a stream takes over what the near curves say."""


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
    streams_share: float = NO_DOUBT.streams_share,
) -> Explanation:
    """Explain the phase's near time; the factors multiply near time, counts, and hit time.

    Kept (by identity of phase and memory) because 50 far memories ask the same.
    """
    total = phase.total * lines
    streams = streams_of(phase, near, streams_share)
    time_ns = phase.near_time_ns.value * near_time
    if float(misses(total) + write_backs(total)) == 0.0 or time_ns <= 0.0:
        return Explanation(BY_CLASSES, 1.0, 1.0, time_ns)
    factor = near_load_factor(phase, near, total, time_ns)

    def spent(overlapped: Overlap, other_ns: float, fetched: Streams = streams) -> float:
        near_part = part(total, near, overlapped, fetched, phase.concurrency)
        return float(core_time_ns(other_ns, [near_part], [factor]))

    def rest(overlapped: Overlap) -> float:
        return _other_ns(lambda other_ns: spent(overlapped, other_ns), time_ns)

    if by_classes:
        memory_ns = spent(BY_CLASSES, 0.0)
        # Where misses could take all the time, the classes are judged by their ratio of far to
        # near: if their near time is wrong, so is the far, alike. Where even serial misses
        # could not, the rest is no memory time, whatever the classes say.
        if spent(overlap(LEAST_FACTOR), 0.0) >= time_ns or memory_ns >= time_ns:
            return Explanation(BY_CLASSES, factor, time_ns / memory_ns, 0.0)
        return Explanation(BY_CLASSES, factor, 1.0, rest(BY_CLASSES))
    # A hit is taken to lie on the path from one miss to the next, as it does in a search.
    farther_ns = farther_hits_ns(phase, near) * lines * hits
    hit_ns = float(total[HITS]) * near.hit_ns * hits + farther_ns
    between = min(hit_ns, MOST_HIT_SHARE * time_ns)
    overlapping = _solve(lambda x: spent(overlap(x), between), time_ns)
    if farther_ns > between:
        # Such hits did not come one after the other, and misses among them overlapped as they did.
        serial_ns = spent(overlap(LEAST_FACTOR), 0.0)

        def together(x: float) -> float:
            return spent(overlap(x), farther_ns * spent(overlap(x), 0.0) / serial_ns)

        overlapping = max(overlapping, _solve(together, time_ns))
    found = overlap(overlapping)
    if spent(found, 0.0) < time_ns:
        other_ns = rest(found)
        computed_ns = _computed_ns(phase, near, streams, other_ns)
        if computed_ns is None:
            return Explanation(found, factor, 1.0, other_ns)
        slower = _slower(
            lambda times: spent(found, computed_ns, replace(streams, slower=times)), time_ns
        )

        def with_slower(other_ns: float) -> float:
            return spent(found, other_ns, replace(streams, slower=slower))

        return Explanation(found, factor, 1.0, _other_ns(with_slower, time_ns), slower)
    scale = 1.0 if near_curves_hold else time_ns / spent(found, 0.0)
    return Explanation(found, factor, scale, 0.0)


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


def _computed_ns(
    phase: PhaseTraffic, near: Memory, streams: Streams, other_ns: float
) -> float | None:
    """Return what the core computes beside streams that take longer than curves say, ns; None:
    they do not, or nobody knows.

    Beside streams, near time that curves do not explain may be what the core computes, or streams
    that are fetched less well than those that were measured (ends of pages, many at once). If the
    window over the bursts computes less than streams take, it cannot be the former.
    """
    streamed = float(phase.total[STREAM] + phase.total[STORE_STREAM])
    if not streams.prefetched or streamed <= MOSTLY_STREAMS * float(misses(phase.total)):
        return None
    found = computing_ns(phase, near)
    if found is None or found >= other_ns:
        return None
    stream_ns = streamed * near.stream_ns(streams.at_once, streams.count)
    return found if found < stream_ns else None


def _slower(spent: Callable[[float], float], time_ns: float) -> float:
    """Return how many times longer streams take if all takes `time_ns`, 1 to `MOST_SLOWER`."""
    low, high = 1.0, MOST_SLOWER
    for _ in range(SOLVER_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if spent(middle) > time_ns else (middle, high)
    return low


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

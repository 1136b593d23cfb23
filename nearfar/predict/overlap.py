"""What cache lines cost while they overlap: in one memory, and in two at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nearfar.predict.core_time import TrafficTime
from nearfar.predict.memory import MAX_CHAINS, MemoryCosts
from nearfar.predict.traffic import (
    CHASE,
    COLUMNS,
    INDEPENDENT,
    STORE,
    STORE_STREAM,
    STREAM,
    WRITE_BACK,
    WRITE_BACK_STREAM,
    Array,
    PhaseTraffic,
)

INDEPENDENT_PRIOR = 11.0
"""Misses in flight in a gather: measured on real cores 11, not the 28 a simulation gives."""


@dataclass(frozen=True)
class Overlap:
    """Misses in flight by class, 1..32."""

    chase: float
    independent: float


@dataclass(frozen=True)
class StreamFetch:
    """How a core fetches what it reads in sequence."""

    prefetched: bool = True
    """False: on demand, as independent misses, but from rows of memory that are open."""
    at_once: float = 1.0
    """Lines that streams which advance together have in flight, over those of one alone."""
    count: float = 1.0
    """Of streams that advance together."""


def overlap_at(factor: float) -> Overlap:
    """Return both classes' parallelism: their priors (1 and 11) times one factor, within limits."""
    return Overlap(
        min(max(factor, 1.0), MAX_CHAINS), min(max(INDEPENDENT_PRIOR * factor, 1.0), MAX_CHAINS)
    )


AHEAD = 0.98
"""A prefetcher reads in sequence faster than the core's own parallel misses; within 2 % there is
none, or it does not help."""


def has_prefetcher(near: MemoryCosts) -> bool:
    """Return whether this core's streams are fetched ahead of their use."""
    return near.core_stream_ns < AHEAD * near.cost_ns(MAX_CHAINS)


def stream_fetch(phase: PhaseTraffic, near: MemoryCosts, share: float) -> StreamFetch:
    """Return how the core that `near` was measured on fetches the phase's streams.

    `share` is the exponent of their number: 0, they share the core's buffers; 1, each has a
    prefetcher's depth of its own.
    """
    return StreamFetch(has_prefetcher(near), phase.streams**share, phase.streams)


MIN_OVERLAP, MAX_OVERLAP = 1.0 / INDEPENDENT_PRIOR, float(MAX_CHAINS)
"""Below, everything is serial; above, everything overlaps as far as the core goes."""

BY_CLASSES = Overlap(1.0, float(MAX_CHAINS))
"""What the classes alone say: a chase is serial, all else overlaps as far as the core goes."""


def traffic_time(
    lines: Array, memory: MemoryCosts, overlapped: Overlap, streams: StreamFetch, concurrency: float
) -> TrafficTime:
    """Return what `lines` (..., COLUMNS) cost in `memory`.

    `concurrency` threads share the memory's bandwidth, so that a line takes so many times its
    bandwidth time of the sum of their CPU times.
    """
    costs = line_costs(memory, overlapped, streams, concurrency)
    if lines.ndim == 1:
        return TrafficTime(*(lines @ costs).tolist())
    # By rows of what it adds to: arithmetic over placements then runs along memory.
    times = np.matmul(costs.T, np.swapaxes(lines, -1, -2))
    return TrafficTime(*(times[..., row, :] for row in range(6)))


@lru_cache(maxsize=4096)
def line_costs(
    memory: MemoryCosts, overlapped: Overlap, streams: StreamFetch, concurrency: float
) -> Array:
    """Return ns of a line by column and by what of `Part` it adds to; kept, as models ask often."""
    chase_ns, independent_ns = (
        memory.cost_ns(overlapped.chase),
        memory.cost_ns(overlapped.independent),
    )
    best_ns = memory.cost_ns(MAX_CHAINS)
    read_ns, read_stream_ns = (ns * concurrency for ns in memory.read_ns)
    write_ns, write_stream_ns = (ns * concurrency for ns in memory.write_ns)
    if streams.prefetched:
        stream_ns = memory.stream_ns(streams.at_once, streams.count)
        stream = (0.0, stream_ns, stream_ns, read_stream_ns, read_stream_ns, 1.0)
        store_stream = (0.0, 0.0, min(best_ns, stream_ns), 0.0, read_stream_ns, 1.0)
    else:
        open_ns = memory.latency_ns / overlapped.independent
        stream = (open_ns, 0.0, best_ns, read_stream_ns, read_stream_ns, 1.0)
        store_stream = (0.0, 0.0, best_ns, 0.0, read_stream_ns, 1.0)
    of = {
        # loads, stream, buffers, reads, all_lines, lines
        CHASE: (chase_ns, 0.0, best_ns, read_ns, read_ns, 1.0),
        INDEPENDENT: (independent_ns, 0.0, best_ns, read_ns, read_ns, 1.0),
        STREAM: stream,
        STORE: (0.0, 0.0, best_ns, 0.0, read_ns, 1.0),
        STORE_STREAM: store_stream,
        WRITE_BACK: (0.0, 0.0, 0.0, 0.0, write_ns, 1.0),
        WRITE_BACK_STREAM: (0.0, 0.0, 0.0, 0.0, write_stream_ns, 1.0),
    }
    return np.array([of.get(column, _FREE) for column in range(COLUMNS)])


_FREE = (0.0,) * 6
"""What hits, flushes and fences move: no lines."""

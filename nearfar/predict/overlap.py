"""What cache lines cost while they overlap: in one memory, and in two at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nearfar.predict.memory import MOST_CHAINS, Memory
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

TINY = float(np.finfo(float).tiny)
"""Keeps quotients of nothing finite."""

FAR_ABOVE = 1e6
"""Bandwidth over waiting time beyond which waiting does not matter; keeps powers finite."""


@dataclass(frozen=True)
class Overlap:
    """Misses in flight by class, 1..32."""

    chase: float
    independent: float


@dataclass(frozen=True)
class Streams:
    """How a core fetches what it reads in sequence."""

    prefetched: bool = True
    """False: on demand, as independent misses, but from rows of memory that are open."""
    at_once: float = 1.0
    """Lines that streams which advance together have in flight, over those of one alone."""


def overlap(factor: float) -> Overlap:
    """Return both classes' parallelism: their priors (1 and 11) times one factor, within limits."""
    return Overlap(
        min(max(factor, 1.0), MOST_CHAINS), min(max(INDEPENDENT_PRIOR * factor, 1.0), MOST_CHAINS)
    )


AHEAD = 0.98
"""A prefetcher reads in sequence faster than the core's own parallel misses; within 2 % there is
none, or it does not help."""


def prefetched(near: Memory) -> bool:
    """Return whether this core's streams are fetched ahead of their use."""
    return near.core_stream_ns < AHEAD * near.cost_ns(MOST_CHAINS)


def streams_of(phase: PhaseTraffic, near: Memory, share: float) -> Streams:
    """Return how the core that `near` was measured on fetches the phase's streams.

    `share` is the exponent of their number: 0, they share the core's buffers; 1, each has a
    prefetcher's depth of its own.
    """
    return Streams(prefetched(near), phase.streams**share)


LEAST_FACTOR, MOST_FACTOR = 1.0 / INDEPENDENT_PRIOR, float(MOST_CHAINS)
"""Below, everything is serial; above, everything overlaps as far as the core goes."""

BY_CLASSES = Overlap(1.0, float(MOST_CHAINS))
"""What the classes alone say: a chase is serial, all else overlaps as far as the core goes."""


@dataclass(frozen=True)
class Part:
    """What the traffic in one memory costs; arrays over placements, ns of CPU time."""

    loads: Array
    """Waiting of loads at idle latency."""
    stream: Array
    """One core's reading in sequence."""
    buffers: Array
    """Occupancy of line-fill buffers: no core fetches lines faster than its best chains do."""
    reads: Array
    """Bandwidth time of what `loads` and `stream` already hold."""
    all_lines: Array
    """Bandwidth time of everything."""
    lines: Array
    """Lines moved."""

    @property
    def latency(self) -> Array:
        """Waiting of loads and streams at idle latency."""
        return np.asarray(self.loads + self.stream)


def part(
    lines: Array, memory: Memory, overlapped: Overlap, streams: Streams, concurrency: float
) -> Part:
    """Return what `lines` (..., COLUMNS) cost in `memory`.

    `concurrency` threads share the memory's bandwidth, so that a line takes so many times its
    bandwidth time of the sum of their CPU times.
    """
    costs = _line_costs(memory, overlapped, streams, concurrency)
    times = lines @ costs
    return Part(*(times[..., column] for column in range(6)))


@lru_cache(maxsize=4096)
def _line_costs(memory: Memory, overlapped: Overlap, streams: Streams, concurrency: float) -> Array:
    """Return ns of a line by column and by what of `Part` it adds to; kept, as models ask often."""
    chase_ns, independent_ns = (
        memory.cost_ns(overlapped.chase),
        memory.cost_ns(overlapped.independent),
    )
    best_ns = memory.cost_ns(MOST_CHAINS)
    read_ns, read_stream_ns = (ns * concurrency for ns in memory.read_ns)
    write_ns, write_stream_ns = (ns * concurrency for ns in memory.write_ns)
    costs = np.zeros((COLUMNS, 6))
    #                         loads           stream     buffers    reads           all_lines, lines
    costs[CHASE] = (chase_ns, 0, best_ns, read_ns, read_ns, 1)
    costs[INDEPENDENT] = (independent_ns, 0, best_ns, read_ns, read_ns, 1)
    if streams.prefetched:
        stream_ns = memory.core_stream_ns / streams.at_once
        costs[STREAM] = (0, stream_ns, stream_ns, read_stream_ns, read_stream_ns, 1)
        costs[STORE_STREAM] = (0, 0, min(best_ns, stream_ns), 0, read_stream_ns, 1)
    else:
        open_ns = memory.latency_ns / overlapped.independent
        costs[STREAM] = (open_ns, 0, best_ns, read_stream_ns, read_stream_ns, 1)
        costs[STORE_STREAM] = (0, 0, best_ns, 0, read_stream_ns, 1)
    costs[STORE] = (0, 0, best_ns, 0, read_ns, 1)
    costs[WRITE_BACK] = (0, 0, 0, 0, write_ns, 1)
    costs[WRITE_BACK_STREAM] = (0, 0, 0, 0, write_stream_ns, 1)
    return costs


def core_time_ns(
    other_ns: Array | float,
    parts: list[Part],
    factors: list[Array | float],
    given: Array | float = 1.0,
) -> Array:
    """Return CPU time: a core waits for loads of both memories, each has bandwidth of its own.

    `other_ns` is what the core does beside waiting; `factors` are loaded over idle latency, one
    per part; `given` is what memories on shared channels give of their bandwidths, 0..1. A
    prefetcher fetches streams meanwhile, so the longer of the two counts.
    """
    first = parts[0]
    loads, stream, buffers = first.loads * factors[0], first.stream, first.buffers
    reads, all_lines = first.reads, first.all_lines
    for other, factor in zip(parts[1:], factors[1:], strict=True):
        loads = loads + other.loads * factor
        stream = stream + other.stream
        buffers = buffers + other.buffers
        reads = np.maximum(reads, other.reads)
        all_lines = np.maximum(all_lines, other.all_lines)
    reads, all_lines = reads / given, all_lines / given
    waiting = np.maximum(_longer(other_ns + loads, stream), buffers)
    # The chains curve already holds the bandwidth bound of its own reads: only what comes on top
    # (stores, write-backs) slows it further.
    per_waiting = 1.0 / np.maximum(waiting, TINY)
    b = _cubed(np.minimum(all_lines * per_waiting, FAR_ABOVE))
    r = _cubed(np.minimum(reads * per_waiting, FAR_ABOVE))
    rise = np.cbrt((1.0 + b) / (1.0 + r))
    return np.asarray(np.maximum(all_lines, waiting * rise))


def _longer(one: Array | float, other: Array) -> Array:
    """Return the time of two things that go on at once: a little above the longer."""
    longer = np.maximum(np.maximum(one, other), TINY)
    shorter = np.minimum(one, other) / longer
    return np.asarray(longer * np.cbrt(1.0 + _cubed(shorter)))


def _cubed(x: Array) -> Array:
    """Return x to the power of 3, by products: numpy's own power takes ten times as long.

    3 is the exponent p of (a^p + b^p)^(1/p), twice. How suddenly bandwidth takes over from
    latency: chosen on the read-write probes of the cycle-level core, which are no test kernels; 2
    and 4 fit them worse. And how well a prefetched stream hides behind the rest: a matter of
    smoothness, 2 to 8 change that core's mean error by 0.1 %.
    """
    return x * x * x

"""The time that a core takes for traffic in one memory, and for traffic in several at once.

`traffic_time` turns lines into times in one memory, `core_time_ns` overlaps those of several. Both
take one placement or an array of placements. A search for one number evaluates them thousands of
times; there Python floats are ten times as fast as arrays of one element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import cbrt
from typing import Any

import msgspec
import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.predict.crowding import crowded
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
    streamed,
)

Number = Array | float
"""A value of one placement, or of each of many placements."""

MIN_CUBE = 1e-100
"""Smallest divisor, cubic ns: keeps 0 / 0 finite, and is negligible next to any time's cube."""

INDEPENDENT_PRIOR = 11.0
"""Misses in flight in a gather: 11 were measured on real cores, a simulation gives 28."""

BLOCK_ROWS = 2048
"""Placements per matrix product: OpenBLAS gives larger ones to threads, which wait for each other
far longer than the product takes where other programs run."""

PREFETCHED_CHASE = 0.5
"""Latency of a dependent read of the next line, over that of a random one, below which a prefetcher
fetched it. An open row of memory saves less than half, a prefetcher nine tenths."""

PREFETCHED_RATIO = 0.98
"""Without such a latency: the ratio of stream cost to the cost of parallel misses below which the
core has a prefetcher. The ratio shows nothing if both use all of the core's buffers."""

MIN_OVERLAP, MAX_OVERLAP = 1.0 / INDEPENDENT_PRIOR, float(MAX_CHAINS)
"""Limits of the overlap factor: below the minimum everything is serial; above the maximum
everything overlaps as far as the core can."""


class Overlap(msgspec.Struct, frozen=True):
    """Misses in flight by class, 1..32."""

    chase: float
    independent: float


BY_CLASSES = Overlap(1.0, float(MAX_CHAINS))
"""Overlap from the classes alone: a chase is serial, all else overlaps as far as the core can."""


def overlap_at(factor: float) -> Overlap:
    """Return both classes' parallelism: their priors (1 and 11) times one factor, within limits."""
    return Overlap(
        min(max(factor, 1.0), MAX_CHAINS), min(max(INDEPENDENT_PRIOR * factor, 1.0), MAX_CHAINS)
    )


class StreamFetch(msgspec.Struct, frozen=True):
    """How a core fetches what it reads in sequence."""

    prefetched: bool = True
    """False: on demand, as independent misses, but from open rows of memory."""
    at_once: float = 1.0
    """Lines in flight of all streams that advance together, relative to those of a single one."""
    count: float = 1.0
    """Number of streams that advance together."""
    for_stores: bool = False
    """Whether the prefetcher also fetches lines of sequential stores, because no chains curve shows
    that this core fetches them faster itself."""
    written: float = 1.0
    """Number of sequences in which a thread writes lines back to memory."""


def has_prefetcher(near: MemoryCosts) -> bool:
    """Return whether this core's streams are fetched ahead of their use."""
    if near.in_order_ns is not None:
        return near.in_order_ns < PREFETCHED_CHASE * near.unwalked_ns
    return near.core_stream_ns / near.shared_by < PREFETCHED_RATIO * near.cost_ns(MAX_CHAINS)


def stream_fetch(phase: PhaseTraffic, near: MemoryCosts, share: float) -> StreamFetch:
    """Return how the core that `near` was measured on fetches the phase's streams.

    Lines in flight grow as the number of streams to the power of `share`. 0: the streams share the
    core's buffers. 1: each has the full depth of a prefetcher.
    """
    stored, streamed_lines = float(phase.total[STORE_STREAM]), streamed(phase.total)
    return StreamFetch(
        has_prefetcher(near),
        phase.streams**share,
        phase.streams,
        not near.chains_measured,
        max(1.0, phase.streams * stored / streamed_lines) if streamed_lines else 1.0,
    )


class TrafficTime(msgspec.Struct, frozen=True):
    """Time of the traffic in one memory, ns of CPU time, of one placement or of many."""

    loads: Number
    """Waiting of loads at idle latency."""
    stream: Number
    """Sequential reading of one core."""
    buffers: Number
    """Occupancy of line-fill buffers: no core fetches lines faster than its best chains do."""
    reads: Number
    """Bandwidth time that `loads` and `stream` already include."""
    all_lines: Number
    """Bandwidth time of all lines."""
    lines: Number
    """Number of lines moved."""
    written: Number = 0.0
    """Part of `all_lines` that lines written back take."""

    @property
    def latency(self) -> Number:
        """Waiting of loads and streams at idle latency."""
        return self.loads + self.stream

    @property
    def alone(self) -> tuple[Number, ...]:
        """Times that overlap cannot shorten: of loads, streams, buffers, reads and writes.

        Loads wait for idle latency. Reads and writes are separate, because a link may have a
        channel for each.
        """
        read = self.all_lines - self.written
        return self.loads, self.stream, self.buffers, read, self.written

    def without(self, moved: TrafficTime) -> TrafficTime:
        """Return the time of the lines that remain after `moved`, a part of them, has left."""
        larger = arithmetic(self.loads, moved.loads).larger
        return TrafficTime(
            larger(self.loads - moved.loads, 0.0),
            larger(self.stream - moved.stream, 0.0),
            larger(self.buffers - moved.buffers, 0.0),
            larger(self.reads - moved.reads, 0.0),
            larger(self.all_lines - moved.all_lines, 0.0),
            larger(self.lines - moved.lines, 0.0),
            larger(self.written - moved.written, 0.0),
        )


NO_TRAFFIC = TrafficTime(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def traffic_time(
    lines: Array,
    memory: MemoryCosts,
    overlap: Overlap,
    streams: StreamFetch,
    concurrency: float,
) -> TrafficTime:
    """Return the time of `lines` (..., COLUMNS) in `memory`.

    `concurrency` threads share the memory's bandwidth, so a line takes that many times its
    bandwidth time from the sum of their CPU times.
    """
    if lines.ndim == 1:
        _, *others = (lines @ _costs_besides_overlap(memory, streams, concurrency)).tolist()
        return TrafficTime(loads_ns(lines, memory, overlap, streams), *others)
    costs = line_costs(memory, overlap, streams, concurrency)
    # One row per term, so that arithmetic over placements runs along memory.
    rows = lines.reshape(-1, COLUMNS)
    times = np.empty((costs.shape[1], len(rows)))
    for at in range(0, len(rows), BLOCK_ROWS):
        block = slice(at, at + BLOCK_ROWS)
        np.matmul(costs.T, rows[block].T, out=times[:, block])
    return TrafficTime(*times.reshape(len(times), *lines.shape[:-1]))


def loads_ns(lines: Array, memory: MemoryCosts, overlap: Overlap, streams: StreamFetch) -> float:
    """Return the waiting of one placement's loads, the only term that depends on the overlap."""
    time_ns = float(lines[CHASE]) * memory.cost_ns(overlap.chase)
    time_ns += float(lines[INDEPENDENT]) * memory.cost_ns(overlap.independent)
    if not streams.prefetched:
        time_ns += float(lines[STREAM]) * (memory.latency_ns / overlap.independent)
    return time_ns


def line_costs(
    memory: MemoryCosts, overlap: Overlap, streams: StreamFetch, concurrency: float
) -> Array:
    """Return ns per line by column and by term of `TrafficTime`."""
    costs = _costs_besides_overlap(memory, streams, concurrency).copy()
    costs[CHASE, 0] = memory.cost_ns(overlap.chase)
    costs[INDEPENDENT, 0] = memory.cost_ns(overlap.independent)
    if not streams.prefetched:
        costs[STREAM, 0] = memory.latency_ns / overlap.independent
    return costs


@lru_cache(maxsize=4096)
def _costs_besides_overlap(memory: MemoryCosts, streams: StreamFetch, concurrency: float) -> Array:
    """Return `line_costs` without the waits that depend on how misses overlap."""
    best_ns = memory.cost_ns(MAX_CHAINS)
    read_ns, read_stream_ns = (ns * concurrency for ns in memory.read_ns)
    write_ns, write_stream_ns = (ns * concurrency for ns in memory.write_ns)
    # Published figures by threads have one sequence per thread. A medium with larger blocks
    # combines lines in a buffer, which too many sequences overflow.
    in_blocks = memory.device.granularity_bytes > LINE_BYTES
    read, written = (streams.count, streams.written) if in_blocks else (1.0, 1.0)
    read_stream_ns *= crowded(memory.crowded_reads, concurrency * read)
    # At worst no lines are combined, as if they were written one by one.
    crowded_ns = write_stream_ns * crowded(memory.crowded_writes, concurrency * written)
    write_stream_ns = max(write_stream_ns, min(crowded_ns, write_ns))
    if streams.prefetched:
        stream_ns = memory.stream_ns(streams.at_once, streams.count)
        stream = (0.0, stream_ns, stream_ns, read_stream_ns, read_stream_ns, 1.0, 0.0)
        # If a measured chains curve shows that the core itself fetches faster, a stored line does
        # not wait for the prefetcher. A derived curve does not show this.
        store_ns = min(best_ns, stream_ns) if memory.chains_measured else stream_ns
        store_stream = (0.0, 0.0, store_ns, 0.0, read_stream_ns, 1.0, 0.0)
        if streams.for_stores:
            store_stream = stream
    else:
        stream = (0.0, 0.0, best_ns, read_stream_ns, read_stream_ns, 1.0, 0.0)
        store_stream = (0.0, 0.0, best_ns, 0.0, read_stream_ns, 1.0, 0.0)
    costs = [(0.0,) * 7] * COLUMNS  # hits, flushes and fences move no lines
    # loads, stream, buffers, reads, all_lines, lines, written
    costs[CHASE] = costs[INDEPENDENT] = 0.0, 0.0, best_ns, read_ns, read_ns, 1.0, 0.0
    costs[STREAM] = stream
    costs[STORE] = 0.0, 0.0, best_ns, 0.0, read_ns, 1.0, 0.0
    costs[STORE_STREAM] = store_stream
    costs[WRITE_BACK] = 0.0, 0.0, 0.0, 0.0, write_ns, 1.0, write_ns
    costs[WRITE_BACK_STREAM] = 0.0, 0.0, 0.0, 0.0, write_stream_ns, 1.0, write_stream_ns
    return np.array(costs)


@dataclass(frozen=True)
class Arithmetic:
    """Operations whose syntax differs between numbers and arrays."""

    larger: Callable[[Any, Any], Any]
    cube_root: Callable[[Any], Any]


_OF_NUMBERS = Arithmetic(max, cbrt)
_OF_ARRAYS = Arithmetic(np.maximum, np.cbrt)


def arithmetic(*values: Number) -> Arithmetic:
    """Return the arithmetic of arrays where any value is one, else of numbers."""
    return _OF_ARRAYS if np.ndarray in map(type, values) else _OF_NUMBERS


def core_time_ns(
    other_ns: Number,
    parts: Sequence[TrafficTime],
    factors: Sequence[Number],
    given: Number = 1.0,
    least_queueing: float = 1.0,
) -> Any:
    """Return the CPU time, ns, of a core with traffic in one or several memories (`parts`).

    The waits for loads from all memories add up; each memory has its own bandwidth. `other_ns` is
    the core's time besides waiting; `factors` are loaded over idle latency, one per part; `given`
    is the share of their bandwidths that memories on shared channels give, 0..1; `least_queueing`
    is the least factor by which traffic that nothing waits for lengthens waiting. A prefetcher
    fetches streams during the other time, so the longer of both counts. The result is an array if
    an argument has arrays.
    """
    first = parts[0]
    m = arithmetic(other_ns, given, *factors, *[part.loads for part in parts])
    larger = m.larger
    loads, stream, buffers = first.loads * factors[0], first.stream, first.buffers
    reads, all_lines = first.reads, first.all_lines
    for i in range(1, len(parts)):
        other = parts[i]
        loads = loads + other.loads * factors[i]
        stream = stream + other.stream
        buffers = buffers + other.buffers
        reads = larger(reads, other.reads)
        all_lines = larger(all_lines, other.all_lines)
    reads, all_lines = _cubed(reads / given), all_lines / given
    # Streams (a) overlap the rest (b): together they take slightly more than the longer of both,
    # (a^3 + b^3)^(1/3). Bandwidth and waiting combine in the same way. The chains curve already
    # includes the bandwidth bound of its reads, so only additional traffic (stores, write-backs)
    # slows it further.
    waiting = larger(_cubed(other_ns + loads) + _cubed(stream), _cubed(buffers))
    waiting = larger(waiting, MIN_CUBE)
    rise = larger((waiting + _cubed(all_lines)) / (waiting + reads), _cubed(least_queueing))
    return larger(all_lines, m.cube_root(waiting * rise))


def _cubed(x: Any) -> Any:
    """Return x to the power of 3, by products: numpy's power takes ten times as long.

    3 is the exponent p of (a^p + b^p)^(1/p), in two places. How suddenly bandwidth takes over from
    latency: chosen on the read-write probes of the cycle-level core, which are not test kernels; 2
    and 4 fit them worse. How well a prefetched stream hides behind the rest: 2 to 8 change that
    core's mean error by 0.1 %.
    """
    return x * x * x

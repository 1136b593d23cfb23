"""What cache lines cost while they overlap: in one memory, and in two at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearfar.predict.memory import MOST_CHAINS, Memory
from nearfar.predict.traffic import (
    CHASE,
    INDEPENDENT,
    STORE,
    STORE_STREAM,
    STREAM,
    WRITE_BACK,
    WRITE_BACK_STREAM,
    Array,
)

INDEPENDENT_PRIOR = 11.0
"""Misses in flight in a gather: measured on real cores 11, not the 28 a simulation gives."""

SHARPNESS = 3.0
"""How suddenly bandwidth takes over from latency: exponent p of (a^p + b^p)^(1/p). Chosen on the
read-write probes of the cycle-level core, which are no test kernels; 2 and 4 fit them worse."""


@dataclass(frozen=True)
class Overlap:
    """Misses in flight by class, 1..32."""

    chase: float
    independent: float


def overlap(factor: float) -> Overlap:
    """Return both classes' parallelism: their priors (1 and 11) times one factor, within limits."""
    return Overlap(
        min(max(factor, 1.0), MOST_CHAINS), min(max(INDEPENDENT_PRIOR * factor, 1.0), MOST_CHAINS)
    )


LEAST_FACTOR, MOST_FACTOR = 1.0 / INDEPENDENT_PRIOR, float(MOST_CHAINS)
"""Below, everything is serial; above, everything overlaps as far as the core goes."""

BY_CLASSES = Overlap(1.0, float(MOST_CHAINS))
"""What the classes alone say: a chase is serial, all else overlaps as far as the core goes."""


@dataclass(frozen=True)
class Part:
    """What the traffic in one memory costs; arrays over placements, ns of CPU time."""

    latency: Array
    """Waiting of loads and streams."""
    buffers: Array
    """Occupancy of line-fill buffers: no core fetches lines faster than its best chains do."""
    reads: Array
    """Bandwidth time of what `latency` already holds."""
    all_lines: Array
    """Bandwidth time of everything."""


def part(
    lines: Array, memory: Memory, overlapped: Overlap, factor: Array | float, concurrency: float
) -> Part:
    """Return what `lines` (..., COLUMNS) cost in `memory`.

    `factor` is loaded over idle latency. `concurrency` threads share the memory's bandwidth, so
    that a line takes so many times its bandwidth time of the sum of their CPU times.
    """
    loads = lines[..., CHASE] + lines[..., INDEPENDENT]
    stores = lines[..., STORE] + lines[..., STORE_STREAM]
    stream = lines[..., STREAM] * memory.core_stream_ns
    random_ns, sequential_ns = memory.read_ns
    write_random_ns, write_sequential_ns = memory.write_ns
    waiting = lines[..., CHASE] * memory.cost_ns(overlapped.chase) + lines[
        ..., INDEPENDENT
    ] * memory.cost_ns(overlapped.independent)
    reads = loads * random_ns + lines[..., STREAM] * sequential_ns
    rest = (
        lines[..., STORE] * random_ns
        + lines[..., STORE_STREAM] * sequential_ns
        + lines[..., WRITE_BACK] * write_random_ns
        + lines[..., WRITE_BACK_STREAM] * write_sequential_ns
    )
    return Part(
        latency=waiting * factor + stream,
        buffers=(loads + stores) * memory.cost_ns(MOST_CHAINS) + stream,
        reads=reads * concurrency,
        all_lines=(reads + rest) * concurrency,
    )


def memory_time_ns(parts: list[Part]) -> Array:
    """Return CPU time spent on memory: a core waits for both, each has bandwidth of its own."""
    latency, buffers = parts[0].latency, parts[0].buffers
    reads, all_lines = parts[0].reads, parts[0].all_lines
    for other in parts[1:]:
        latency, buffers = latency + other.latency, buffers + other.buffers
        reads = np.maximum(reads, other.reads)
        all_lines = np.maximum(all_lines, other.all_lines)
    waiting = np.maximum(latency, buffers)
    # Divided by the greatest, so that powers neither overflow nor vanish.
    unit = np.maximum(np.maximum(waiting, all_lines), np.finfo(float).tiny)
    a, b, r = waiting / unit, all_lines / unit, reads / unit
    # The chains curve already holds the bandwidth bound of its own reads: only what comes on top
    # (stores, write-backs) slows it further.
    rise = (a**SHARPNESS + b**SHARPNESS) / np.maximum(a**SHARPNESS + r**SHARPNESS, 1e-300)
    return np.asarray(np.maximum(all_lines, waiting * rise ** (1.0 / SHARPNESS)))

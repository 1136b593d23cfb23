"""What a core takes while lines of several memories overlap: one formula, of numbers or of arrays.

A search for one number asks it thousands of times; there Python's own floats are ten times as quick
as arrays of nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import cbrt
from typing import Any

import numpy as np

from nearfar.predict.traffic import Array

Number = Array | float
"""One placement's, or one of each of many placements."""

TINY = 1e-100
"""Cubic ns; keeps quotients of nothing finite, and is nothing beside any time's cube."""


@dataclass(frozen=True, slots=True)
class TrafficTime:
    """What the traffic in one memory costs; ns of CPU time, of one placement or of many."""

    loads: Number
    """Waiting of loads at idle latency."""
    stream: Number
    """One core's reading in sequence."""
    buffers: Number
    """Occupancy of line-fill buffers: no core fetches lines faster than its best chains do."""
    reads: Number
    """Bandwidth time of what `loads` and `stream` already hold."""
    all_lines: Number
    """Bandwidth time of everything."""
    lines: Number
    """Lines moved."""

    @property
    def latency(self) -> Number:
        """Waiting of loads and streams at idle latency."""
        return self.loads + self.stream

    def without(self, moved: TrafficTime) -> TrafficTime:
        """Return what stays when `moved`, a part of the same lines in the same memory, goes."""
        larger = arithmetic(self.loads, moved.loads).larger
        return TrafficTime(
            larger(self.loads - moved.loads, 0.0),
            larger(self.stream - moved.stream, 0.0),
            larger(self.buffers - moved.buffers, 0.0),
            larger(self.reads - moved.reads, 0.0),
            larger(self.all_lines - moved.all_lines, 0.0),
            larger(self.lines - moved.lines, 0.0),
        )


NO_TRAFFIC = TrafficTime(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""No traffic."""


@dataclass(frozen=True)
class Arithmetic:
    """What numbers and arrays write differently."""

    larger: Callable[[Any, Any], Any]
    cube_root: Callable[[Any], Any]


_OF_NUMBERS = Arithmetic(max, cbrt)
_OF_ARRAYS = Arithmetic(np.maximum, np.cbrt)


def arithmetic(*values: Number) -> Arithmetic:
    """Return the arithmetic of numbers, or of arrays where any value is one."""
    for value in values:
        if isinstance(value, np.ndarray):
            return _OF_ARRAYS
    return _OF_NUMBERS


def core_time_ns(
    other_ns: Number, parts: Sequence[TrafficTime], factors: Sequence[Number], given: Number = 1.0
) -> Any:
    """Return CPU time: a core waits for loads of both memories, each has bandwidth of its own.

    `other_ns` is what the core does beside waiting; `factors` are loaded over idle latency, one
    per part; `given` is what memories on shared channels give of their bandwidths, 0..1. A
    prefetcher fetches streams meanwhile, so the longer of the two counts. Numbers give a number.
    """
    first = parts[0]
    m = arithmetic(other_ns, given, *(part.loads for part in parts), *factors)
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
    # A stream hides behind the rest, so both take a little above the longer: (a^3 + b^3)^(1/3).
    # Bandwidth joins waiting likewise; but the chains curve already holds the bandwidth bound of
    # its own reads, so only what comes on top (stores, write-backs) slows it further.
    waiting = larger(_cubed(other_ns + loads) + _cubed(stream), _cubed(buffers))
    waiting = larger(waiting, TINY)
    rise = (waiting + _cubed(all_lines)) / (waiting + reads)
    return larger(all_lines, m.cube_root(waiting * rise))


def _cubed(x: Any) -> Any:
    """Return x to the power of 3, by products: numpy's own power takes ten times as long.

    3 is the exponent p of (a^p + b^p)^(1/p), twice. How suddenly bandwidth takes over from
    latency: chosen on the read-write probes of the cycle-level core, which are no test kernels; 2
    and 4 fit them worse. And how well a prefetched stream hides behind the rest: a matter of
    smoothness, 2 to 8 change that core's mean error by 0.1 %.
    """
    return x * x * x

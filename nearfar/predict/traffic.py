"""The traffic of a phase as arrays: one row per object, one column per kind of line.

Loads, stores and streams have separate columns because they wait differently: a load delays what
needs its value, a store waits in the store buffer, a stream is fetched ahead by the prefetcher.
`phases` makes this traffic from a profile.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import hypot, inf

import numpy as np
from numpy.typing import NDArray

from nearfar.base.estimate import Estimate
from nearfar.documents.bursts import Bursts
from nearfar.profile.bursts.trace import BurstTrace, make_trace

Array = NDArray[np.float64]

CHASE, INDEPENDENT, STREAM, STORE, STORE_STREAM, WRITE_BACK, WRITE_BACK_STREAM, HITS = range(8)
FLUSH, FENCE, NT_LINE = range(8, 11)
COLUMNS = 11
"""Number of columns of a traffic array.

All columns count lines, except `HITS` (accesses that a cache answers) and `FENCE` (fences). Chase:
the address was loaded by the access before. Independent: indirect and opaque loads. Store: lines
fetched because a store missed. `*_STREAM`: addresses that advance by a constant. Flush, nt_line:
lines that the program writes to memory on purpose, through the caches and past them.
"""

MAX_INSTRUCTIONS, MAX_ACCESSES = 100_000, 20_000
"""Instructions and accesses simulated per phase: enough for a mean over ten bursts; the window
takes 2 to 5 ms."""

SHORT_SHARE = 0.25
"""Share of these that are simulated for slopes, where only relative changes matter."""


@dataclass(frozen=True, eq=False)
class PhaseMissCurve:
    """Misses of a phase by the size of a fully associative cache."""

    sizes_bytes: Array
    misses: Array
    """Misses by size, never rising."""
    here_bytes: int
    """Size of the cache that was simulated."""

    def at(self, size_bytes: float) -> float:
        """Return the misses of a cache of this size, interpolated over the size's logarithm."""
        return float(np.interp(np.log2(size_bytes), np.log2(self.sizes_bytes), self.misses))

    @cached_property
    def accesses(self) -> Array:
        """Accesses whose reuse distance lies between one size and the next."""
        return np.maximum(-np.diff(self.misses), 0.0)

    @cached_property
    def log_distances(self) -> Array:
        """Middle of each step between two sizes, log2 of bytes."""
        return np.log2(self.sizes_bytes[:-1] * self.sizes_bytes[1:]) / 2.0


@dataclass(frozen=True, eq=False)
class PageTouches:
    """How often a phase touches a 4 KiB page again, by the size of the pages touched in between."""

    sizes_bytes: Array
    """Distances, rising: the size of the pages touched in between."""
    beyond: Array
    """Touches from longer distances, never rising."""

    def farther_than(self, distances_bytes: Array) -> Array:
        """Return the touches from longer distances, interpolated on a logarithmic scale."""
        distances = np.log2(np.maximum(distances_bytes, 1.0))
        return np.asarray(np.interp(distances, np.log2(self.sizes_bytes), self.beyond))


@dataclass(frozen=True, eq=False)
class RecordedBursts:
    """The bursts of one phase."""

    bursts: Bursts
    number: int
    """Index of the phase in `bursts.phases`."""

    @cached_property
    def trace(self) -> BurstTrace:
        """The bursts as arrays; cached because making them takes as long as many predictions."""
        return make_trace(self.bursts, self.number, MAX_INSTRUCTIONS, MAX_ACCESSES)

    @cached_property
    def misses(self) -> int:
        """Misses in all bursts together."""
        return int(self.trace.missing.sum())

    @cached_property
    def short_trace(self) -> BurstTrace:
        """A part of the bursts."""
        return make_trace(
            self.bursts,
            self.number,
            MAX_INSTRUCTIONS * SHORT_SHARE,
            MAX_ACCESSES * SHORT_SHARE,
        )


@dataclass(frozen=True, eq=False)
class CountedIntervals:
    """Counts of a phase by interval, as arrays."""

    near_ns: Array
    """CPU time of all threads."""
    concurrency: Array
    """CPU time over wall time, at least 1."""
    waiting: Array
    """Lines that the program waits for."""
    lines: Array
    """All lines read, prefetched ones included."""
    written: Array
    """Lines written back."""
    stalled_ns: Array | None = None
    """CPU time stalled on memory; None: not counted."""


@dataclass(frozen=True, eq=False)
class PhaseTraffic:
    """One phase, ready for models."""

    name: str
    near_time_ns: Estimate
    """CPU time of all threads with everything in near memory."""
    concurrency: float
    """Mean number of running threads: CPU time over wall time, at least 1."""
    operations: float | None
    objects: Array
    """Traffic by object, shape (objects, COLUMNS)."""
    sampling_error: float
    """Relative 95 % half-width of the counts that sampling implies."""
    streams: float = 1.0
    """Streams that advance together, see `phases.concurrent_streams`."""
    curve: PhaseMissCurve | None = None
    """Misses that other caches would have; None where the profile has no curves."""
    extrapolated: tuple[float, float] = (1.0, 1.0)
    """Ends of the interval of all lines over their value, for a size that was not run."""
    other_counts: tuple[float, float] = (1.0, 1.0)
    """Smallest and largest of the profile's other counts of lines, over the count used."""
    uncounted_share: float = 0.0
    """Share of near time whose accesses nothing counted: all of it may be waiting; 1 where code
    was left out, see `counts`."""
    unseen_share: float = 0.0
    """Share of the program's time outside the profile: it may wait never or always."""
    unsampled_lines: float = 0.0
    """Misses that the phase may have although none was sampled."""
    unseen_sequences: Array | None = None
    """Change of the traffic, shape (COLUMNS,), if misses of unknown class have twice the sequences
    seen; None: none were seen."""
    remarks: tuple[str, ...] = ()
    """Sentences on its counts."""
    bursts: RecordedBursts | None = None
    """Short stretches recorded in full; None where the profile has none."""
    flushes_counted: bool = False
    """Whether flushes, fences and non-temporal stores were counted; if so, 0 means none."""
    walks_per_miss: float | None = None
    """Page walks per miss outside streams, if all pages have 4 KiB; None: not counted."""
    walks_apart: float = 1.0
    """Share of walks that read another line of a page table than the walks just before."""
    walked_bytes: float = inf
    """Size of the data that walks go to, see `phases`."""
    translated_bytes: float = 0.0
    """Size of the data whose translations the TLB holds."""
    page_touches: PageTouches | None = None
    """Returns to pages by distance; None where the profile has no page curves."""
    intervals: CountedIntervals | None = None
    """Counts by interval; None: totals alone."""

    @property
    def lines_range(self) -> tuple[float, float]:
        """Return the 95 % interval of the counts over their value."""
        low, high = self.extrapolated
        return 1.0 - hypot(self.sampling_error, 1.0 - low), 1.0 + hypot(
            self.sampling_error, high - 1.0
        )

    @cached_property
    def total(self) -> Array:
        """The traffic of the whole phase, shape (COLUMNS,)."""
        return np.asarray(self.objects.sum(axis=0))

    @cached_property
    def touched(self) -> NDArray[np.intp]:
        """The numbers of the objects with any traffic, rising."""
        return np.flatnonzero(self.objects.any(axis=1))

    @cached_property
    def read_share(self) -> float:
        """Reads over all traffic, 0..1; models of all memories ask for it."""
        return read_share(self.total)

    @cached_property
    def uncached_share(self) -> float:
        """Share of written lines that the program flushes or stores past the caches, 0..1."""
        written = float(write_backs(self.total))
        uncached = float(self.total[FLUSH] + self.total[NT_LINE])
        return min(1.0, uncached / written) if written else 0.0


def column_costs(
    chase: float,
    independent: float,
    stream: float,
    write_back: float,
    write_back_stream: float,
    *,
    store: float | None = None,
) -> Array:
    """Return costs per line by column, shape (COLUMNS,).

    By default a store's line costs as much as an independent load's; store streams cost as streams.
    """
    costs = np.zeros(COLUMNS)
    costs[CHASE], costs[INDEPENDENT] = chase, independent
    costs[STORE] = independent if store is None else store
    costs[[STREAM, STORE_STREAM]] = stream
    costs[WRITE_BACK], costs[WRITE_BACK_STREAM] = write_back, write_back_stream
    return costs


def misses(lines: Array) -> Array:
    """Return lines fetched from memory, summed over the last axis."""
    return np.asarray(np.add.reduce(lines[..., CHASE : STORE_STREAM + 1], axis=-1))


def write_backs(lines: Array) -> Array:
    """Return lines written back to memory, summed over the last axis."""
    return np.asarray(lines[..., WRITE_BACK] + lines[..., WRITE_BACK_STREAM])


def streamed(lines: Array) -> float:
    """Return lines that streams fetch, for loads and for stores, of one placement."""
    return float(lines[STREAM] + lines[STORE_STREAM])


def read_share(lines: Array) -> float:
    """Return reads over all traffic of one phase, 0..1; 1 where there is no traffic."""
    reads, writes = float(misses(lines)), float(write_backs(lines))
    return reads / (reads + writes) if reads + writes > 0 else 1.0

"""A memory as one core sees it: what a line costs, ns. `derive` makes it from a device profile."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import inf, log2
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nearfar.devices.cores import plausible_cores
from nearfar.devices.quality import QUIET, MeasurementQuality
from nearfar.documents.core import CoreFigures
from nearfar.documents.device import DeviceProfile
from nearfar.predict.crowding import UNCROWDED, Crowding, crowded
from nearfar.predict.loaded_latency import LoadedFactor, interpolate, load_at_read_share
from nearfar.predict.shared_channels import ChannelSharing
from nearfar.predict.traffic import Array

MAX_CHAINS = 32
"""End of chains curves; no core sustains more dependent chains of loads."""

MAX_TRANSLATED_SHARE = 0.75
"""Maximum share of a region that the TLB covers for its chases to show the time of page walks: with
few walks, differences are noise."""

COPY_LINES = 1.5
"""Lines that a copy moves for each line that it reads: every second one is written back."""

LatencyFrom = Literal["measured", "added", "published", "ratio"]
"""How a latency was converted to this machine, see `host`."""


@dataclass(frozen=True)
class RegionWalks:
    """Time that page walks add to a random access, by the size of the region accessed.

    Page tables of less data are in nearer caches.
    """

    region_bytes: Array
    """Sizes, rising; the last is the region that chains curves use."""
    walks_ns: Array
    """Time of an access's walks, by region."""
    latencies_ns: Array
    """Latency of a read over each region, walks included."""
    hits_ns: Array | None = None
    """Time that walks add to a hit on a page after all other pages of the region were touched, by
    region; None: not measured."""

    def relative(self, size_bytes: float) -> float:
        """Return the walks of an access over `size_bytes` relative to the last region."""
        if self.walks_ns[-1] <= 0.0:
            return 1.0
        at = np.interp(log2(max(size_bytes, 1.0)), np.log2(self.region_bytes), self.walks_ns)
        return float(at / self.walks_ns[-1])

    def by_distance(self, reach_bytes: float) -> tuple[Array, Array]:
        """Return steps of the distance between touches of a page: starts, bytes, and walks, ns.

        A random chase touches its pages again at all distances up to its region equally often, and
        touches within the TLB's `reach_bytes` do not walk. So the time that a larger region adds is
        that of walks from the distances that it adds. The last step has no end. Walks from larger
        distances never take less; where measured ones do, it is noise.
        """
        walking = self._walking(reach_bytes)
        regions = self.region_bytes[walking]
        starts = np.concatenate([[reach_bytes], regions[:-1]])
        steps = regions - starts
        steps[0] = max(steps[0], (1.0 - MAX_TRANSLATED_SHARE) * regions[0])
        together = np.maximum.accumulate(regions * self.walks_ns[walking])
        walks_ns = np.maximum.accumulate(np.diff(together, prepend=0.0) / steps)
        all_ns = float(walks_ns @ steps)
        return starts, walks_ns * (float(together[-1]) / all_ns if all_ns > 0.0 else 1.0)

    def hits_by_distance(self, reach_bytes: float) -> Array | None:
        """Return the walk time of hits in the steps of `by_distance`, ns; None: not measured.

        A step has the mean of the times at its start and its end. For the first step, the time at
        its start is not known: it has the time at its end.
        """
        if self.hits_ns is None:
            return None
        ends = np.maximum.accumulate(self.hits_ns[self._walking(reach_bytes)])
        return (np.append(ends[:1], ends[:-1]) + ends) / 2.0

    def _walking(self, reach_bytes: float) -> NDArray[np.bool_]:
        """Return by region whether its chase walks often enough; the last always counts."""
        walking = self.region_bytes * MAX_TRANSLATED_SHARE >= reach_bytes
        walking[-1] = True
        return np.asarray(walking)


@dataclass(frozen=True)
class ProgramReads:
    """Random reads of data allocated as the program's, ns per read; None: not measured.

    Reads are dependent unless a field says otherwise. The operating system may give a program pages
    that lie closer together than those of the measured curves.
    """

    far_ns: float | None = None
    near_ns: float | None = None
    far_independent_ns: float | None = None
    """Time of independent reads of far data: as many at once as the core can have."""
    near_independent_ns: float | None = None
    """Time of independent reads of near data."""
    size_bytes: float = inf
    """Size of the data read."""


NO_READS = ProgramReads()


@dataclass(frozen=True, eq=False)
class MemoryCosts:
    """One memory as one core sees it; costs are ns per line of 64 B."""

    device: DeviceProfile
    page_bytes: int | None
    """Page size of the costs; None: the largest that was measured."""
    latency_ns: float
    """Latency of a dependent random read, page walk included."""
    chain_counts: Array
    chain_costs_ns: Array
    """Cost of a miss while `chain_counts` chains run at once; never rising."""
    chains_measured: bool
    """False: the chains curve is derived, see `derive`."""
    waiting_ns: Array | None
    """Costs of a derived chains curve without its bandwidth bound; else None."""
    core_stream_ns: float
    """Cost of a line of a sequential read by one core, prefetchers on."""
    read_ns: tuple[float, float]
    """Cost of a line read by all cores together: (random, sequential)."""
    write_ns: tuple[float, float]
    """Cost of a line that all cores' caches evict: (random, sequential)."""
    hit_ns: float
    """Latency of the first-level cache."""
    latency_error: float
    """Relative half-width of the latencies."""
    bandwidth_error: float
    """Relative half-width of the bandwidths."""
    quality: MeasurementQuality = QUIET
    """Noise of the measurement, whose errors come on top."""
    page_ends_ns: float = 0.0
    """Part of `core_stream_ns` spent at the ends of pages, where a prefetcher stops."""
    copied_ns: float | None = None
    """Cost of a line read by one core that copies: two streams advance together, and every second
    line is written back. None: not measured."""
    copied_ends_ns: float = 0.0
    """Part of `copied_ns` spent at the ends of pages."""
    of_one_core: bool = False
    """Whether the bandwidths are those of one core, not what the memory gives."""
    walk_ns: float = 0.0
    """Part of the latency that page walks take."""
    hit_walks_ns: float = 0.0
    """Time of page walks at accesses that hit the cache, per line that misses."""
    unwalked_costs_ns: Array | None = None
    """`chain_costs_ns` without page walks; None unless pages of both sizes were measured."""
    own_walks: Array | None = None
    """Walk time in the program's data relative to the measured chase, by `chain_counts`: its pages
    may lie closer together or farther apart. None: as long."""
    region_walks: RegionWalks | None = None
    """Walks over smaller regions; None: not measured."""
    latency_range: tuple[float, float] = (1.0, 1.0)
    """Minimum and maximum latency by the other host rules (see `host`), over the latency."""
    stream_range: tuple[float, float] = (1.0, 1.0)
    """Minimum and maximum of `core_stream_ns` if it is assumed, see `core_streams`; factors."""
    uncached_ns: float | None = None
    """Cost of a sequential line that a program flushes or stores past the caches; None: that of an
    evicted one. Caches evict the lines of a sequence in another order, of which a medium with
    larger blocks combines few."""
    write_range: tuple[float, float] = (1.0, 1.0)
    """Minimum and maximum of `write_ns`; factors."""
    crowded_reads: Crowding = UNCROWDED
    """Slowdown of sequential reads by threads beyond the number with the best bandwidth."""
    crowded_writes: Crowding = UNCROWDED
    """Slowdown of sequential writes by threads beyond the number with the best bandwidth."""
    shared_streams: Crowding = UNCROWDED
    """Slowdown of one core's sequential reads by the number of reading threads."""
    shared_by: float = 1.0
    """Factor of `shared_streams` that `core_stream_ns` includes."""
    load_share: float = 1.0
    """Part of the latency that a loaded-latency curve's factors multiply: queueing in the memory
    does not grow with the machine's path to it."""
    near_share: float = 0.0
    """Part of the latency that changes with near memory's latency, because it was added to it."""
    latency_from: LatencyFrom = "measured"
    channel_sharing: ChannelSharing | None = None
    """Joint bandwidth of near and this memory; None: independent."""
    is_near: bool = False
    """Whether a far memory has near memory's figures: then their errors are the same, and moving
    data there changes nothing."""
    core: CoreFigures = field(default_factory=plausible_cores)
    """The core that a near memory is seen from, with every figure; a far memory's is not used."""
    in_order_ns: float | None = None
    """Latency of a dependent read of the next line, page after page; None: not measured."""
    caveats: tuple[str, ...] = ()
    load_curves: dict[tuple[float, float], LoadedFactor | None] = field(
        default_factory=dict, repr=False
    )
    """Cache of loaded-latency curves by read and load share; scaled memories share it."""
    _log_counts: list[float] = field(init=False, repr=False)
    _log_costs: list[float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_log_counts", np.log2(self.chain_counts).tolist())
        object.__setattr__(self, "_log_costs", np.log2(self.chain_costs_ns).tolist())

    @property
    def copied_to_ns(self) -> float:
        """Cost of a line of a copy into this memory, which stores past the caches, ns."""
        return self.write_ns[1] if self.uncached_ns is None else self.uncached_ns

    @property
    def unwalked_ns(self) -> float:
        """Latency of a dependent random read without page walks, ns."""
        return self.latency_ns - self.walk_ns

    def cost_ns(self, parallelism: float) -> float:
        """Return the cost of a miss with `parallelism` misses in flight, 1..32, ns.

        Interpolation on logarithmic scales is exact where k misses in flight cost latency / k.
        """
        return float(
            2.0 ** interpolate(log2(max(parallelism, 1.0)), self._log_counts, self._log_costs)
        )

    def stream_ns(self, at_once: float, streams: float) -> float:
        """Return the cost of a line while several streams advance together, ns.

        Together they have `at_once` times as many lines in flight as one stream. While one stream
        is at the end of its page, the others continue. Where a copy was measured, two streams cost
        as much as the copy's two, and more streams wait less for page ends.
        """
        if self.copied_ns is not None and streams > 1.0:
            several = min(streams, 2.0) - 1.0
            more = max(streams, 2.0)
            copied_ns = self.copied_ns - self.copied_ends_ns * (1.0 - 2.0 / more)
            return several * copied_ns + (1.0 - several) * self.core_stream_ns
        return (self.core_stream_ns - self.page_ends_ns) / at_once + self.page_ends_ns / streams

    def loaded_latency(self, read_share: float) -> LoadedFactor | None:
        """Return how latency grows with drawn bandwidth at a read share; None if unknown."""
        key = (read_share, self.load_share)
        if key not in self.load_curves:
            self.load_curves[key] = load_at_read_share(self.device.loaded_latency, *key)
        return self.load_curves[key]


@lru_cache(maxsize=1024)
def shared_memory(memory: MemoryCosts, threads: float) -> MemoryCosts:
    """Return a memory as one of `threads` that read in sequence sees it.

    Equal arguments return the same object, because `explain` caches by identity.
    """
    longer = crowded(memory.shared_streams, threads)
    if longer == 1.0:
        return memory
    return replace(
        memory,
        core_stream_ns=memory.core_stream_ns * longer,
        page_ends_ns=memory.page_ends_ns * longer,
        copied_ns=None if memory.copied_ns is None else memory.copied_ns * longer,
        copied_ends_ns=memory.copied_ends_ns * longer,
        shared_streams=UNCROWDED,
        shared_by=longer,
    )


@lru_cache(maxsize=1024)
def scaled_memory(
    memory: MemoryCosts,
    latency: float = 1.0,
    bandwidth: float = 1.0,
    stream: float = 1.0,
    writes: float = 1.0,
) -> MemoryCosts:
    """Return a memory with its latencies and bandwidths multiplied.

    `stream` and `writes` multiply the times of one core's sequential reads and of lines written.
    Cached: equal factors return the same object, because `explain` caches by identity.
    """
    if latency == bandwidth == stream == writes == 1.0:
        return memory
    waiting_ns = None if memory.waiting_ns is None else memory.waiting_ns * latency
    return replace(
        memory,
        latency_ns=memory.latency_ns * latency,
        chain_costs_ns=memory.chain_costs_ns * latency
        if waiting_ns is None
        else bounded(waiting_ns, memory.read_ns[0] / bandwidth),
        unwalked_costs_ns=None
        if memory.unwalked_costs_ns is None
        else memory.unwalked_costs_ns * latency,
        waiting_ns=waiting_ns,
        hit_walks_ns=memory.hit_walks_ns * latency,
        core_stream_ns=memory.core_stream_ns * stream / bandwidth,
        page_ends_ns=memory.page_ends_ns / bandwidth,
        copied_ns=None if memory.copied_ns is None else memory.copied_ns * stream / bandwidth,
        copied_ends_ns=memory.copied_ends_ns * stream / bandwidth,
        read_ns=(memory.read_ns[0] / bandwidth, memory.read_ns[1] / bandwidth),
        write_ns=(
            memory.write_ns[0] * writes / bandwidth,
            memory.write_ns[1] * writes / bandwidth,
        ),
        uncached_ns=None if memory.uncached_ns is None else memory.uncached_ns * writes / bandwidth,
    )


def bounded(waiting_ns: Array, line_ns: float) -> Array:
    """Return the costs of chains with `line_ns` of bandwidth as minimum; one chain has enough."""
    return np.maximum(waiting_ns, min(line_ns, float(waiting_ns[0])))


def comparable(near: MemoryCosts, *fars: MemoryCosts) -> tuple[MemoryCosts, ...]:
    """Return near and far memories with only those figures that were measured for all of them.

    If a copy was measured in one memory only, it would make that memory's streams incomparable to
    the others'. Equal memories return the same objects (cached).
    """
    memories = (near, *fars)
    if any(memory.copied_ns is None for memory in memories):
        return tuple(_without_copies(memory) for memory in memories)
    if not all(memory.of_one_core for memory in memories):
        return memories
    return tuple(_with_copy_bandwidth(memory) for memory in memories)


@lru_cache(maxsize=1024)
def written_memory(memory: MemoryCosts, uncached_share: float) -> MemoryCosts:
    """Return a memory as a program sees it that flushes or stores past the caches a share of lines.

    `uncached_share` is of its written lines, 0..1. Too many sequences crowd only these lines: what
    the caches evict is hardly combined in any case.
    """
    if memory.uncached_ns is None:
        return memory
    random_ns, evicted_ns = memory.write_ns
    uncached_ns, evicted_ns = uncached_share * memory.uncached_ns, (1 - uncached_share) * evicted_ns
    line_ns = uncached_ns + evicted_ns
    return replace(
        memory,
        write_ns=(random_ns, line_ns),
        uncached_ns=None,
        crowded_writes=tuple(
            (threads, (uncached_ns * slower + evicted_ns) / line_ns)
            for threads, slower in memory.crowded_writes
        ),
    )


@lru_cache(maxsize=1024)
def seen_by(threads: float, near: MemoryCosts, far: MemoryCosts) -> tuple[MemoryCosts, ...]:
    """Return both memories as one of `threads` sees them, with only what was measured for both."""
    return comparable(shared_memory(near, threads), shared_memory(far, threads))


@lru_cache(maxsize=1024)
def _without_copies(memory: MemoryCosts) -> MemoryCosts:
    return memory if memory.copied_ns is None else replace(memory, copied_ns=None)


@lru_cache(maxsize=1024)
def _with_copy_bandwidth(memory: MemoryCosts) -> MemoryCosts:
    """Return a memory with the bus bandwidth that one core's copies show, if it is higher.

    Copies may show more than reads, which wait for the ends of pages.
    """
    assert memory.copied_ns is not None
    line_ns = min(memory.core_stream_ns, memory.copied_ns / COPY_LINES)
    written_ns = min(memory.write_ns[1], line_ns)
    if (memory.read_ns[1], memory.write_ns[1]) == (line_ns, written_ns):
        return memory
    return replace(
        memory,
        read_ns=(max(memory.read_ns[0], line_ns), line_ns),
        write_ns=(memory.write_ns[0], written_ns),
        # For streams that only read, one or several, this is an estimate.
        bandwidth_error=max(memory.bandwidth_error, (memory.core_stream_ns / line_ns - 1.0) / 2),
    )

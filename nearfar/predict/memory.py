"""A device profile as the numbers a model needs: what a line costs one core, ns."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import log2
from typing import Literal

import numpy as np

from nearfar.documents.device import DeviceProfile, LoadedLatencyCurve
from nearfar.predict.traffic import Array

MAX_CHAINS = 32
"""Chains curves are measured up to here; no core keeps more dependent chains of loads going."""


@dataclass(frozen=True, eq=False)
class MemoryCosts:
    """One memory as one core sees it. All costs are ns per line of 64 B."""

    device: DeviceProfile
    page_bytes: int | None
    """Pages its figures are for; None: the largest that were measured."""
    latency_ns: float
    """Latency of a dependent random read, page walk included."""
    chain_counts: Array
    chain_costs_ns: Array
    """Cost of a miss while `chain_counts` chains go on at once; never rising."""
    chains_measured: bool
    """False: derived by a rule, see `derive`."""
    waiting_ns: Array | None
    """Of a derived curve, what the costs would be were there no bound by bandwidth; else None."""
    core_stream_ns: float
    """A line of a sequential read by one core, prefetchers on."""
    read_ns: tuple[float, float]
    """A line read, all cores together: (random, sequential)."""
    write_ns: tuple[float, float]
    """A line written back, all cores together: (random, sequential)."""
    hit_ns: float
    """Latency of the first-level cache, ns."""
    latency_error: float
    """Relative half-width of the latencies."""
    bandwidth_error: float
    """Relative half-width of the bandwidths."""
    page_ends_ns: float = 0.0
    """Of `core_stream_ns`, what ends of pages take: a prefetcher stops there."""
    copied_ns: float | None = None
    """A line read by one core that copies, ns: two streams advance together, and every second line
    is written back; None: not measured."""
    copied_ends_ns: float = 0.0
    """Of `copied_ns`, what ends of pages take."""
    of_one_core: bool = False
    """Bandwidths are those of one core, not what the memory gives."""
    walk_ns: float = 0.0
    """Of the latency, what page walks take."""
    unwalked_costs_ns: Array | None = None
    """`chain_costs_ns` without page walks, where pages of both sizes were measured; else None."""
    walks_measured: float = 1.0
    """Walks for each access of the chase that `chain_costs_ns` is of, counted in walks of the
    program's own data, which may lie closer together or farther apart."""
    own_ns: float | None = None
    """Latency of dependent random reads of the program's own data, which `walks_measured` is of."""
    walks_by_region: WalksByRegion | None = None
    """What an access's walks take over smaller regions; None: not measured."""
    latency_range: tuple[float, float] = (1.0, 1.0)
    """Over the latency, the least and greatest that other ways of taking published figures to
    this machine give, see `host`."""
    load_share: float = 1.0
    """Of the latency, what a loaded-latency curve's factors are of: queueing in the memory does
    not grow with the machine's own path."""
    near_share: float = 0.0
    """Of the latency, what moves with near memory's because it was taken from it."""
    taken: Literal["measured", "added", "published", "ratio"] = "measured"
    """How its latency was taken to this machine."""
    together: ChannelSharing | None = None
    """What near and this memory give at once, where they share channels; None: independent."""
    is_near: bool = False
    """A far memory whose figures are near memory's own: what is uncertain of one is alike of the
    other, and moving data there changes nothing."""
    caveats: tuple[str, ...] = ()
    loaded: dict[tuple[float, float], LoadedFactor | None] = field(default_factory=dict, repr=False)
    """Loaded-latency curves found so far, by read and load share; `scaled` memories share them."""
    _log_counts: list[float] = field(init=False, repr=False)
    _log_costs: list[float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_log_counts", np.log2(self.chain_counts).tolist())
        object.__setattr__(self, "_log_costs", np.log2(self.chain_costs_ns).tolist())

    @property
    def unwalked_ns(self) -> float:
        """Latency of a dependent random read, page walks left out, ns."""
        return self.latency_ns - self.walk_ns

    def cost_ns(self, parallelism: float) -> float:
        """Return what a miss costs with so many in flight, 1..32, ns.

        Straight between measured points on logarithmic scales: exact for latency over k.
        """
        return float(
            2.0 ** interpolate(log2(max(parallelism, 1.0)), self._log_counts, self._log_costs)
        )

    def stream_ns(self, at_once: float, streams: float) -> float:
        """Return what a line takes while `streams` advance together and have `at_once` times as
        many lines in flight as one, ns; at the end of a stream's page the others go on.

        Where a copy was measured, two streams take what its two do, and more wait less for ends.
        """
        if self.copied_ns is not None and streams > 1.0:
            several = min(streams, 2.0) - 1.0
            more = max(streams, 2.0)
            copied_ns = self.copied_ns - self.copied_ends_ns * (1.0 - 2.0 / more)
            return several * copied_ns + (1.0 - several) * self.core_stream_ns
        return (self.core_stream_ns - self.page_ends_ns) / at_once + self.page_ends_ns / streams

    def loaded_latency(self, share: float) -> LoadedFactor | None:
        """Return how latency grows with drawn bandwidth at a read share; None if unknown."""
        key = (share, self.load_share)
        if key not in self.loaded:
            self.loaded[key] = self._loaded_latency(share)
        return self.loaded[key]

    def _loaded_latency(self, share: float) -> LoadedFactor | None:
        curves = [
            curve
            for curve in self.device.loaded_latency
            if curve.instruction == "load" and len(curve.points) > 1
        ]
        if not curves:
            return None
        less = [curve for curve in curves if curve.read_share <= share]
        more = [curve for curve in curves if curve.read_share >= share]
        below = max(less or curves, key=lambda curve: (bool(less), -abs(curve.read_share - share)))
        above = max(more or curves, key=lambda curve: (bool(more), -abs(curve.read_share - share)))
        found = LoadedFactor.of(below, self.load_share)
        if below.read_share == above.read_share:
            return found
        way = (share - below.read_share) / (above.read_share - below.read_share)
        if not 0.0 < way < 1.0:
            return found if way <= 0.0 else LoadedFactor.of(above, self.load_share)
        return interpolated_load(found, LoadedFactor.of(above, self.load_share), way)


def interpolate(x: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    """Return y at `x` on straight lines between points, the end's beyond them; `xs` never falls.

    As np.interp, at a tenth of its time for one number.
    """
    at = bisect_right(xs, x)
    if at == 0:
        return ys[0]
    if at == len(xs):
        return ys[-1]
    before = xs[at - 1]
    return ys[at - 1] + (ys[at] - ys[at - 1]) * (x - before) / (xs[at] - before)


@lru_cache(maxsize=1024)
def scaled_memory(memory: MemoryCosts, latency: float = 1.0, bandwidth: float = 1.0) -> MemoryCosts:
    """Return a memory with latencies and bandwidths multiplied; the same one for the same factors.

    Kept because what is explained of near time is kept by the memory's identity.
    """
    if latency == 1.0 and bandwidth == 1.0:
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
        core_stream_ns=memory.core_stream_ns / bandwidth,
        page_ends_ns=memory.page_ends_ns / bandwidth,
        copied_ns=None if memory.copied_ns is None else memory.copied_ns / bandwidth,
        copied_ends_ns=memory.copied_ends_ns / bandwidth,
        read_ns=(memory.read_ns[0] / bandwidth, memory.read_ns[1] / bandwidth),
        write_ns=(memory.write_ns[0] / bandwidth, memory.write_ns[1] / bandwidth),
    )


def comparable(near: MemoryCosts, *fars: MemoryCosts) -> tuple[MemoryCosts, ...]:
    """Return near and far memories with what was measured of all of them only: a copy in one alone
    would tell of another core's streams than the others' figures do.

    The same ones for the same ones: what is explained of near time is kept by its identity.
    """
    every = (near, *fars)
    if any(one.copied_ns is None for one in every):
        return tuple(_without_copies(one) for one in every)
    if not all(one.of_one_core for one in every):
        return every
    return tuple(_moving_as_copies(one) for one in every)


@lru_cache(maxsize=1024)
def _without_copies(memory: MemoryCosts) -> MemoryCosts:
    return memory if memory.copied_ns is None else replace(memory, copied_ns=None)


@lru_cache(maxsize=1024)
def _moving_as_copies(memory: MemoryCosts) -> MemoryCosts:
    """Return a memory whose bus moves the lines that a core's copies do: no fewer than its reads,
    which wait for ends of pages.
    """
    assert memory.copied_ns is not None
    line_ns = min(memory.core_stream_ns, memory.copied_ns / LINES_COPIED)
    written_ns = min(memory.write_ns[1], line_ns)
    if (memory.read_ns[1], memory.write_ns[1]) == (line_ns, written_ns):
        return memory
    return replace(
        memory,
        read_ns=(max(memory.read_ns[0], line_ns), line_ns),
        write_ns=(memory.write_ns[0], written_ns),
        # Of several streams that only read, as of one alone, it is an estimate.
        bandwidth_error=max(memory.bandwidth_error, (memory.core_stream_ns / line_ns - 1.0) / 2),
    )


LINES_COPIED = 1.5
"""Lines that a copy moves for each that it reads: every second one is written back."""


def bounded(waiting_ns: Array, line_ns: float) -> Array:
    """Return chains' costs where a line also takes `line_ns` of bandwidth; one chain has enough."""
    return np.maximum(waiting_ns, min(line_ns, float(waiting_ns[0])))


@dataclass(frozen=True)
class WalksByRegion:
    """What page walks add to a random access, by the region it goes over: tables of less data are
    nearer caches."""

    region_bytes: Array
    """Rising; the last is the region that chains curves are of."""
    walks_ns: Array
    """Of an access; as many as regions."""
    latencies_ns: Array
    """Of a read over each region, walks included."""

    def of_one(self, size_bytes: float, reach_bytes: float) -> float:
        """Return a walk's time over `size_bytes`, over that in the last region, 0..1.

        Of the accesses over a region, those to the `reach_bytes` that translations are kept for
        need no walk.
        """
        walking = 1.0 - np.minimum(reach_bytes / self.region_bytes, MOST_KEPT)
        each_ns = np.maximum.accumulate(self.walks_ns / walking)
        if each_ns[-1] <= 0.0:
            return 1.0
        at = np.interp(log2(max(size_bytes, 1.0)), np.log2(self.region_bytes), each_ns)
        return float(at / each_ns[-1])


MOST_KEPT = 0.75
"""Of a region, what is believed to need no walk: of few that do, times are noise."""


@dataclass(frozen=True)
class ChannelSharing:
    """How far two memories hold each other back, by the share of bytes the far one moves."""

    far_shares: Array
    given: Array
    """Of what both would give were they independent, 0..1."""

    def at(self, far_share: Array) -> Array:
        """Return what is given."""
        return np.asarray(np.interp(far_share, self.far_shares, self.given))


@dataclass(frozen=True)
class LoadedFactor:
    """Loaded over idle latency by drawn bandwidth; never falling."""

    bandwidths_gb_per_s: Array
    factors: Array
    _points: tuple[list[float], list[float]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        points = (self.bandwidths_gb_per_s.tolist(), self.factors.tolist())
        object.__setattr__(self, "_points", points)

    @staticmethod
    def of(curve: LoadedLatencyCurve, share: float = 1.0) -> LoadedFactor:
        """Take the rising part: up to the greatest bandwidth, dips filled.

        `share` of the latency grows, the rest stays.

        Past saturation a real curve may fold back; at one bandwidth the better branch is where
        a program that is not itself past saturation runs.
        """
        points = np.asarray(curve.points, dtype=float)
        points = points[: int(points[:, 0].argmax()) + 1]
        points = points[np.argsort(points[:, 0], kind="stable")]
        latency = np.maximum.accumulate(points[:, 1])
        return LoadedFactor(points[:, 0], 1.0 + (latency / latency[0] - 1.0) * share)

    def at(self, bandwidth_gb_per_s: Array | float) -> Array:
        """Return the factor at a drawn bandwidth; beyond the curve's end, its last."""
        return np.asarray(np.interp(bandwidth_gb_per_s, self.bandwidths_gb_per_s, self.factors))

    def at_one(self, bandwidth_gb_per_s: float) -> float:
        """Return the same for one number, sooner."""
        return interpolate(bandwidth_gb_per_s, *self._points)

    @property
    def end_gb_per_s(self) -> float:
        """Bandwidth at the curve's end."""
        return float(self.bandwidths_gb_per_s[-1])

    @property
    def greatest(self) -> float:
        """The factor at saturation."""
        return float(self.factors[-1])


SURFACE_POINTS = 65
"""Of a curve between two: more than any measured curve has."""


def interpolated_load(one: LoadedFactor, other: LoadedFactor, way: float) -> LoadedFactor:
    """Return the curve a share `way` (0..1) from one read share's to another's.

    Curves of more writes end earlier: the ends are joined, and factors at the same share of each.
    """
    shares = np.linspace(0.0, 1.0, SURFACE_POINTS)
    factors = [curve.at(shares * curve.end_gb_per_s) for curve in (one, other)]
    end = (1.0 - way) * one.end_gb_per_s + way * other.end_gb_per_s
    return LoadedFactor(shares * end, (1.0 - way) * factors[0] + way * factors[1])

"""Near memory as a direct-mapped cache of the far memory, as in Optane's Memory Mode.

The miss curve tells how many lines are touched between two uses of one. Where data of F bytes lie
in one piece of physical memory, as on a machine with much free memory, a cache of C bytes has
conflicts only for F > C: F / C - 1 other lines share a line's place on average, and each was used
meanwhile with probability d / F. Where pages are scattered, N lines keep a line while d others come
in with probability (1 - 1/N)^d. The value is that of one piece, and the interval covers both.
Misses are the sum of lost lines over reuse distances, plus lines used for the first time. In one
piece, the lines whose places have one line more than the others lie together: data that are walked
in sequence pass them one after the other, so the times of both regions add, and nothing of one
hides behind the other. Random accesses meet both at the same time. A miss waits for near memory
(which holds the tag with the data), then for far memory, and its line is written into near memory.
A core's stream waits for both too, with as many lines in flight as without near memory, unless far
memory's bandwidth limits it. Written lines that lose their place go to far memory in the order in
which they were written; the interval covers that they go one by one. A hit waits as before.

The rules for conflicts and for written lines were chosen when the published runs of NPB's BT and MG
and of PolyBench's jacobi-2d were known (`nearfar reproduce applications`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from msgspec.structs import replace

from nearfar.base.units import format_bytes
from nearfar.predict.core_time import TrafficTime
from nearfar.predict.memory import MemoryCosts, scaled_memory, written_memory
from nearfar.predict.model import MODELS, NO_PERTURBATION, ModelLacksError, Perturbation
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.traffic import (
    COLUMNS,
    FENCE,
    FLUSH,
    HITS,
    NT_LINE,
    WRITE_BACK,
    WRITE_BACK_STREAM,
    Array,
    PhaseMissCurve,
    PhaseTraffic,
    misses,
    streamed,
)

STEPS = 8
"""Points per factor of 2 between sizes of the curve: errors below 0.1 % of the misses."""


@MODELS.register("memory-mode")
class MemoryModeModel(InversionModel):
    """The inversion, with only the misses of near memory going far."""

    name = "memory-mode"
    everything_far = False

    def __init__(
        self,
        phase: PhaseTraffic,
        near: MemoryCosts,
        far: MemoryCosts,
        perturbation: Perturbation = NO_PERTURBATION,
    ) -> None:
        self.cache_bytes = near.device.capacity_bytes
        if not self.cache_bytes:
            raise ModelLacksError(
                f"memory-mode needs the size of {near.device.name} as a cache: give --near-size, "
                "such as 16GiB"
            )
        if phase.curve is None and float(misses(phase.total)) > 0:
            raise ModelLacksError(
                "memory-mode needs miss curves, and the profile, or a phase of it, has none: "
                "profile the program again, a longer run"
            )
        # A miss waits for both, one after the other.
        longer = (near.latency_ns + far.latency_ns) / far.latency_ns
        stream = longer if far.core_stream_ns > far.read_ns[1] else 1.0
        # Near memory, not a core's cache, evicts the lines.
        both = written_memory(scaled_memory(far, longer, stream=stream), 1.0)
        super().__init__(phase, near, far if far.is_near else both, perturbation)
        self.given_far = far
        self.scattered_share = 0.0
        self.regions: tuple[Region, ...] = ()
        if phase.curve is not None:
            used_bytes = _used_bytes(phase, phase.curve)
            self.regions = contiguous_regions(phase.curve, self.cache_bytes, used_bytes)
            self.scattered_share = scattered_share(phase.curve, self.cache_bytes)
        lines = float(misses(phase.total))
        self._walked_share = streamed(phase.total) / lines if lines else 0.0

    @property
    def miss_share(self) -> float:
        """Share of last-level misses that miss in near memory, with data in one piece."""
        return sum(region.lines * region.misses for region in self.regions)

    def times_ns(self, moved: Array) -> Array:
        """Return time with data in one piece, ns."""
        return self._one_piece_ns(moved, one_by_one=False)

    def times_to_cover_ns(self) -> list[float]:
        """Return times with data in one piece or scattered, and both orders of write-backs, ns."""
        moved = self.phase.total
        return [
            float(time_ns)
            for one_by_one in (True, False)
            for time_ns in (
                self._one_piece_ns(moved, one_by_one),
                self._at_share_ns(moved, self.scattered_share, one_by_one),
            )
        ]

    def _one_piece_ns(self, moved: Array, one_by_one: bool) -> Array:
        """Return time with data in one piece, ns; walks pass one region after the other."""
        mixed_ns = self._at_share_ns(moved, self.miss_share, one_by_one)
        if len(self.regions) < 2 or not self._walked_share:
            return mixed_ns
        walked_ns = np.zeros_like(mixed_ns)
        for region in self.regions:
            walked_ns = walked_ns + region.lines * self._at_share_ns(
                moved, region.misses, one_by_one
            )
        return np.asarray(mixed_ns + self._walked_share * (walked_ns - mixed_ns))

    def _at_share_ns(self, moved: Array, far_share: float, one_by_one: bool) -> Array:
        """Return time if `far_share` of the misses of `moved` go far, ns."""
        moved = self._perturbed(moved)
        return self._split_time(moved, self._parts_at_share(moved, far_share, one_by_one))

    def remarks(self) -> list[str]:
        """Return the shares of misses in a sentence."""
        return [
            f"memory-mode: {self.miss_share:.1%} of last-level misses of phase "
            f"{self.phase.name!r} miss in {format_bytes(self.cache_bytes or 0)} of near memory too "
            f"where its data are in one piece, {self.scattered_share:.1%} where pages are scattered"
        ]

    def _parts(self, moved: Array) -> list[TrafficTime]:
        return self._parts_at_share(moved, self.miss_share, one_by_one=False)

    def _parts_at_share(
        self, moved: Array, far_share: float, one_by_one: bool
    ) -> list[TrafficTime]:
        """Return near and far parts; `one_by_one`: written lines do not go far in order."""
        shares = np.full(COLUMNS, far_share)
        shares[[HITS, FLUSH, FENCE, NT_LINE]] = 0.0
        far_lines = moved * shares
        if one_by_one:
            far_lines[..., WRITE_BACK] += far_lines[..., WRITE_BACK_STREAM]
            far_lines[..., WRITE_BACK_STREAM] = 0.0
        near_lines = np.maximum(self.total - far_lines, 0.0)
        near_lines[..., WRITE_BACK] += misses(far_lines)
        # Every sequence of lines that enters the cache, also of reads, evicts written lines.
        streams = replace(self.explanation.streams, written=self.explanation.streams.count)
        return [
            self._part(near_lines, self.near, streams),
            self._part(far_lines, self.far, streams),
        ]


def _used_bytes(phase: PhaseTraffic, curve: PhaseMissCurve) -> float:
    """Return the size of the reused data: the curve limits it, and page walks refine it."""
    (used,) = np.nonzero(curve.accesses)
    if not used.size:
        return float(curve.here_bytes)
    low, high = curve.sizes_bytes[used[-1] : used[-1] + 2]
    return float(np.clip(phase.walked_bytes, low, high))


@lru_cache(maxsize=64)
def scattered_share(curve: PhaseMissCurve, cache_bytes: int) -> float:
    """Return the misses of a direct-mapped cache over simulated misses, for scattered pages."""
    return _lost_share(curve, lambda distance_bytes: 1.0 - np.exp(-distance_bytes / cache_bytes))


@dataclass(frozen=True)
class Region:
    """A part of the data whose places in near memory have the same number of other lines."""

    lines: float
    """Its share of the data."""
    misses: float
    """Share of its last-level misses that miss in near memory."""


@lru_cache(maxsize=64)
def contiguous_regions(
    curve: PhaseMissCurve, cache_bytes: int, used_bytes: float
) -> tuple[Region, ...]:
    """Return the regions of data of `used_bytes` in one piece, in a direct-mapped cache.

    Cached, as is `scattered_share`: perturbed models and all far memories have the same curve.
    """
    if used_bytes <= cache_bytes:
        return (Region(1.0, _lost_share(curve, np.zeros_like)),)
    # On average F / C - 1 other lines share a place: for some places it is the whole number below
    # this average, for the others the whole number above it.
    fewest = int(used_bytes // cache_bytes) - 1
    crowded_bytes = used_bytes - (fewest + 1) * cache_bytes
    crowded = crowded_bytes * (fewest + 2) / used_bytes

    def lost_to(others: int) -> float:
        return _lost_share(
            curve,
            lambda distance: 1.0 - (1.0 - np.minimum(distance / used_bytes, 1.0)) ** others,
        )

    return Region(1.0 - crowded, lost_to(fewest)), Region(crowded, lost_to(fewest + 1))


def _lost_share(curve: PhaseMissCurve, lost: Callable[[Array], Array]) -> float:
    """Return lost uses and first uses over the misses simulated; `lost` is a probability."""
    here = curve.at(curve.here_bytes)
    if here <= 0.0:
        return 0.0
    smallest, largest = float(curve.here_bytes), float(curve.sizes_bytes[-1])
    count = max(2, STEPS * int(np.ceil(np.log2(largest / smallest))) + 1)
    sizes = np.geomspace(smallest, largest, count)
    remaining = np.interp(np.log2(sizes), np.log2(curve.sizes_bytes), curve.misses)
    # Uses whose reuse distance lies between two sizes.
    uses = remaining[:-1] - remaining[1:]
    probability = lost(np.sqrt(sizes[:-1] * sizes[1:]))
    return min(1.0, float((uses @ probability + remaining[-1]) / here))

"""Near memory as a direct-mapped cache of the far memory, as in Optane's Memory Mode.

The miss curve tells how many lines are touched between two uses of one. Where data of F bytes lie
in one piece of physical memory, as on a machine with much free memory, a cache of C bytes has
conflicts only for F > C: F / C - 1 other lines share a line's place on average, and each was used
meanwhile with probability d / F. Where pages are scattered, N lines keep a line while d others come
in with probability (1 - 1/N)^d. The value is that of one piece, and the interval covers both.
Misses are the sum of lost lines over reuse distances, plus lines used for the first time. A miss
waits for near memory (which holds the tag with the data), then for far memory, and its line is
written into near memory. Written lines that lose their place go to far memory in the order in which
they were written; the interval covers that they go one by one. A hit waits as before.

The rules for conflicts and for written lines were chosen with published runs of NPB's BT and MG and
of PolyBench's jacobi-2d in sight (`nearfar reproduce applications`).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from msgspec.structs import replace

from nearfar.base.units import format_bytes
from nearfar.predict.core_time import TrafficTime
from nearfar.predict.memory import MemoryCosts, scaled_memory
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
        both = scaled_memory(far, (near.latency_ns + far.latency_ns) / far.latency_ns)
        super().__init__(phase, near, far if far.is_near else both, perturbation)
        self.given_far = far
        self.miss_share, self.scattered_share = 0.0, 0.0
        self._one_by_one = False
        if phase.curve is not None:
            used_bytes = _used_bytes(phase, phase.curve)
            self.miss_share = contiguous_share(phase.curve, self.cache_bytes, used_bytes)
            self.scattered_share = scattered_share(phase.curve, self.cache_bytes)

    def times_to_cover_ns(self) -> list[float]:
        """Return times with pages scattered or in one piece, and lines written one by one, ns."""
        contiguous, times_ns = self.miss_share, []
        for share, one_by_one in product((contiguous, self.scattered_share), (False, True)):
            self.miss_share, self._one_by_one = share, one_by_one
            # A copy: times of the array itself are kept.
            times_ns.append(float(self.times_ns(self.phase.total.copy())))
        self.miss_share, self._one_by_one = contiguous, False
        return times_ns

    def remarks(self) -> list[str]:
        """Return the shares of misses in a sentence."""
        return [
            f"memory-mode: {self.miss_share:.1%} of last-level misses of phase "
            f"{self.phase.name!r} miss in {format_bytes(self.cache_bytes or 0)} of near memory too "
            f"where its data are in one piece, {self.scattered_share:.1%} where pages are scattered"
        ]

    def _parts(self, moved: Array) -> list[TrafficTime]:
        shares = np.full(COLUMNS, self.miss_share)
        shares[[HITS, FLUSH, FENCE, NT_LINE]] = 0.0
        far_lines = moved * shares
        if self._one_by_one:
            far_lines[..., WRITE_BACK] += far_lines[..., WRITE_BACK_STREAM]
            far_lines[..., WRITE_BACK_STREAM] = 0.0
        near_lines = np.maximum(self.total - far_lines, 0.0)
        near_lines[..., WRITE_BACK] += misses(far_lines)
        # Every sequence of lines that comes in, read ones too, pushes written ones out.
        streams = replace(self.explanation.streams, written=self.explanation.streams.count)
        return [
            self._part(near_lines, self.near, streams),
            self._part(far_lines, self.far, streams),
        ]


def _used_bytes(phase: PhaseTraffic, curve: PhaseMissCurve) -> float:
    """Return the size of the data used again: page walks tell it between two sizes of the curve."""
    (used,) = np.nonzero(curve.accesses)
    if not used.size:
        return float(curve.here_bytes)
    low, high = curve.sizes_bytes[used[-1] : used[-1] + 2]
    return float(np.clip(phase.walked_bytes, low, high))


def scattered_share(curve: PhaseMissCurve, cache_bytes: int) -> float:
    """Return misses of a direct-mapped cache over those simulated, for scattered pages."""
    return _lost_share(curve, lambda distance_bytes: 1.0 - np.exp(-distance_bytes / cache_bytes))


def contiguous_share(curve: PhaseMissCurve, cache_bytes: int, used_bytes: float) -> float:
    """Return misses of a direct-mapped cache over those simulated, of data in one piece.

    `used_bytes` is the size of the data.
    """
    if used_bytes <= cache_bytes:
        return _lost_share(curve, np.zeros_like)
    # So many other lines share a place: the whole number below F / C - 1 for some places, one more
    # for the rest.
    fewest = int(used_bytes // cache_bytes) - 1
    crowded_bytes = used_bytes - (fewest + 1) * cache_bytes
    crowded = crowded_bytes * (fewest + 2) / used_bytes

    def lost(distance_bytes: Array) -> Array:
        unused = 1.0 - np.minimum(distance_bytes / used_bytes, 1.0)
        return np.asarray(
            (1.0 - crowded) * (1.0 - unused**fewest) + crowded * (1.0 - unused ** (fewest + 1))
        )

    return _lost_share(curve, lost)


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

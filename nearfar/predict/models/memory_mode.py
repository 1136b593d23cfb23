"""Near memory as a direct-mapped cache of the far memory, as in Optane's Memory Mode.

The miss curve tells how many lines are touched between two uses of one. A direct-mapped cache of N
lines keeps a line while d others come in with probability (1 - 1/N)^d, because addresses are
scattered over physical pages. Its misses are the sum of lost lines over reuse distances, plus lines
used for the first time. A miss waits for near memory (which holds the tag with the data), then for
far memory, and its line is written into near memory. A hit waits as before.

No public raw measurements of Memory Mode were found to validate this.
"""

from __future__ import annotations

import numpy as np

from nearfar.base.units import LINE_BYTES, format_bytes
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
        self.miss_share = direct_mapped_share(phase.curve, self.cache_bytes) if phase.curve else 0.0

    def remarks(self) -> list[str]:
        """Return the share of misses, and that the model was not validated, in sentences."""
        return [
            f"memory-mode: {self.miss_share:.1%} of last-level misses of phase "
            f"{self.phase.name!r} miss in {format_bytes(self.cache_bytes or 0)} of near memory too",
            "memory-mode was not validated on hardware",
        ]

    def _parts(self, moved: Array) -> list[TrafficTime]:
        shares = np.full(COLUMNS, self.miss_share)
        shares[[HITS, FLUSH, FENCE, NT_LINE]] = 0.0
        far_lines = moved * shares
        near_lines = np.maximum(self.total - far_lines, 0.0)
        near_lines[..., WRITE_BACK] += misses(far_lines)
        return [self._part(near_lines, self.near), self._part(far_lines, self.far)]


def direct_mapped_share(curve: PhaseMissCurve, cache_bytes: int) -> float:
    """Return misses of a direct-mapped cache over those of the cache that was simulated."""
    here = curve.at(curve.here_bytes)
    if here <= 0.0:
        return 0.0
    smallest, largest = float(curve.here_bytes), float(curve.sizes_bytes[-1])
    count = max(2, STEPS * int(np.ceil(np.log2(largest / smallest))) + 1)
    sizes = np.geomspace(smallest, largest, count)
    remaining = np.interp(np.log2(sizes), np.log2(curve.sizes_bytes), curve.misses)
    # Uses whose reuse distance lies between two sizes, and the probability that they are lost.
    uses = remaining[:-1] - remaining[1:]
    distances = np.sqrt(sizes[:-1] * sizes[1:]) / LINE_BYTES
    lost = 1.0 - np.exp(-distances / (cache_bytes / LINE_BYTES))
    return min(1.0, float((uses @ lost + remaining[-1]) / here))

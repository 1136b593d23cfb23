"""Noise as measured on real machines, added to the answers of a model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearfar.samples.point import Sample

SPREAD = 0.015
"""Relative spread of one sample about its median; 1-3 % for 50,000 accesses on an idle guest."""

DRIFT = 0.01
DRIFT_MEMORY = 0.99
"""Standard deviation of the common drift of samples, and its correlation from one sample to the
next: points of one round drift alike, points a hundred samples apart do not."""

DISTURBED = 0.015
DISTURBED_BY = 0.3
DISTURBED_SEEN = 0.7
"""Share of disturbed samples, their mean added time, and how often the kernel can notice (steal
time and context switches are counted, a neighbour's traffic is not)."""

EACH_SPREAD = 0.03
EACH_JITTER_NS = 1.0
"""Jitter of single accesses: relative, and of the timer in ns."""

INTERRUPT_EVERY_NS = 4e6
INTERRUPT_NS = 2000.0
"""Interrupts and steals hit single accesses at random, 250 a second, 2 us and more (Pareto)."""

TAIL_SHARE = 2e-3
TAIL_NS = 60.0
"""Accesses that meet another's (bank conflicts, refresh of DRAM): some tens of ns more."""


class ModelNoise:
    """Random noise, which repeats for the same seed and order of calls; `scale` 0: none."""

    def __init__(self, seed: int, scale: float) -> None:
        self._dice = np.random.default_rng(seed)
        self._scale = scale
        self._drift = 0.0

    def sample(self, value: float, drawn_gb_per_s: float = 0.0) -> Sample:
        """Return one sample of a median or a bandwidth."""
        factor, disturbed = self._factor()
        spread = 1 + self._scale * 0.02 * self._dice.standard_normal()
        return Sample(value * factor, drawn_gb_per_s * max(spread, 0.1), disturbed=disturbed)

    def each(self, times_ns: NDArray[np.float32], utilisation: float) -> Sample:
        """Return single accesses; `utilisation` of the memory, 0 to 1, makes their tail heavier."""
        factor, disturbed = self._factor()
        if self._scale == 0:
            return Sample(float(times_ns.mean()), each_ns=times_ns, disturbed=disturbed)
        dice, count = self._dice, times_ns.size
        spread = dice.standard_normal(count, dtype=np.float32) * np.float32(
            EACH_SPREAD * self._scale
        )
        times = times_ns * np.exp(spread) * np.float32(factor)
        times += dice.standard_normal(count, dtype=np.float32) * np.float32(EACH_JITTER_NS)
        if utilisation > 0:
            # Queueing noise: exponential, with the mean that the load adds.
            mean = np.float32(utilisation) * times
            times += (dice.standard_exponential(count, dtype=np.float32) - 1) * mean
        self._lengthen_some(times, TAIL_SHARE, TAIL_NS)
        self._lengthen_some(times, float(times_ns.mean()) / INTERRUPT_EVERY_NS, INTERRUPT_NS)
        np.maximum(times, np.float32(1.0), out=times)
        return Sample(float(times.mean()), each_ns=times, disturbed=disturbed)

    def _lengthen_some(self, times: NDArray[np.float32], share: float, least_ns: float) -> None:
        hits = self._dice.random(times.size, dtype=np.float32) < share * min(self._scale, 1.0)
        where = np.flatnonzero(hits)
        # Pareto with exponent 2.5 has a finite mean but no largest value.
        times[where] += (least_ns * (1 + self._dice.pareto(2.5, where.size))).astype(np.float32)

    def _factor(self) -> tuple[float, bool]:
        dice = self._dice
        self._drift = DRIFT_MEMORY * self._drift + (
            (1 - DRIFT_MEMORY**2) ** 0.5 * dice.standard_normal()
        )
        log = SPREAD * dice.standard_normal() + DRIFT * self._drift
        hit, seen, by = dice.random(), dice.random(), dice.exponential(DISTURBED_BY)
        if hit < DISTURBED and self._scale > 0:
            return float(np.exp(self._scale * log) * (1 + by)), bool(seen < DISTURBED_SEEN)
        return float(np.exp(self._scale * log)), False

"""A naive model: all of near time waits for memory and grows as latency does."""

from __future__ import annotations

import numpy as np

from nearfar.predict.model import MODELS, Model
from nearfar.predict.traffic import Array, misses


@MODELS.register("latency-ratio")
class LatencyRatioModel(Model):
    """Near time times the ratio of latencies, for the moved share of the misses."""

    name = "latency-ratio"

    def times_ns(self, moved: Array) -> Array:
        """Return near time whose moved share grows as latency, ns."""
        all_misses = float(misses(self.total))
        if all_misses == 0.0:
            return np.full(moved.shape[:-1], self.near_time_ns)
        share = misses(moved) * self.perturbation.lines / all_misses
        ratio = self.far.latency_ns / self.near.latency_ns
        return np.asarray(self.near_time_ns * (1.0 + share * (ratio - 1.0)))

    def remarks(self) -> list[str]:
        """Return what its interval omits, in a sentence."""
        return [
            "latency-ratio assumes that all of near time is waiting: its interval covers the "
            "uncertainty of the figures, not the error of that assumption"
        ]

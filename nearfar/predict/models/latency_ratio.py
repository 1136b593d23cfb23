"""All of near time waits for memory and grows as latency does."""

from __future__ import annotations

import numpy as np

from nearfar.predict.model import MODELS, Model
from nearfar.predict.traffic import Array, misses


@MODELS.register("latency-ratio")
class LatencyRatioModel(Model):
    """Near time times far over near latency, for the moved share of the misses."""

    name = "latency-ratio"

    def times_ns(self, moved: Array) -> Array:
        """Return near time, its moved share grown as latency, ns."""
        all_misses = float(misses(self.total))
        if all_misses == 0.0:
            return np.full(moved.shape[:-1], self.near_time_ns)
        share = misses(moved) * self.doubt.lines / all_misses
        ratio = self.far.latency_ns / self.near.latency_ns
        return np.asarray(self.near_time_ns * (1.0 + share * (ratio - 1.0)))

    def remarks(self) -> list[str]:
        """Say what its interval lacks."""
        return [
            "latency-ratio takes all of near time for waiting: its interval holds what is "
            "uncertain of the figures, not how far that is wrong"
        ]

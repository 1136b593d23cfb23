"""Each miss waits alone: no overlap, no bandwidth."""

from __future__ import annotations

import numpy as np

from nearfar.predict.model import MODELS, Model
from nearfar.predict.traffic import Array, misses


@MODELS.register("misses")
class Misses(Model):
    """Near time plus moved misses times the difference of latencies."""

    name = "misses"

    def times_ns(self, moved: Array) -> Array:
        """Return near time and the moved misses' added latencies, ns."""
        difference_ns = self.far.latency_ns - self.near.latency_ns
        added = misses(moved) * self.doubt.lines * difference_ns
        return np.asarray(np.maximum(0.0, self.near_time_ns + added))

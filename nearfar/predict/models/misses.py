"""Each miss waits alone: no overlap, no bandwidth."""

from __future__ import annotations

import numpy as np

from nearfar.documents.prediction import Bound
from nearfar.predict.model import MODELS, Model
from nearfar.predict.traffic import Array, misses


@MODELS.register("misses")
class MissesModel(Model):
    """Near time plus moved misses times the difference of latencies."""

    name = "misses"

    def times_ns(self, moved: Array) -> Array:
        """Return near time and the moved misses' added latencies, ns."""
        difference_ns = self.far.latency_ns - self.near.latency_ns
        added = misses(moved) * self.doubt.lines * difference_ns
        return np.asarray(np.maximum(0.0, self.near_time_ns + added))

    def bound(self) -> Bound:
        """Compute, where misses one by one are less than half of the time with everything far."""
        waiting_ns = float(misses(self.total)) * self.far.latency_ns
        return "latency" if waiting_ns > 0.5 * float(self.times_ns(self.phase.total)) else "compute"

    def remarks(self) -> list[str]:
        """Say what its interval lacks."""
        return [
            "misses takes every miss to wait alone: its interval holds what is uncertain of the "
            "figures, not how many overlap"
        ]

"""A naive model: each miss waits alone, without overlap and bandwidth."""

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
        """Return near time plus the moved misses' added latencies, ns."""
        difference_ns = self.far.latency_ns - self.near.latency_ns
        added = misses(moved) * self.perturbation.lines * difference_ns
        return np.asarray(np.maximum(0.0, self.near_time_ns + added))

    def bound(self) -> Bound:
        """Return compute where serial misses are less than half of all-far time, else latency."""
        waiting_ns = float(misses(self.total)) * self.far.latency_ns
        return "latency" if waiting_ns > 0.5 * float(self.times_ns(self.phase.total)) else "compute"

    def remarks(self) -> list[str]:
        """Return what its interval omits, in a sentence."""
        return [
            "misses assumes that every miss waits alone: its interval covers the uncertainty of "
            "the figures, not how many overlap"
        ]

"""A naive model: no slowdown. Every other model must beat it."""

from __future__ import annotations

import numpy as np

from nearfar.documents.prediction import Bound
from nearfar.predict.model import MODELS, Model
from nearfar.predict.traffic import Array


@MODELS.register("null")
class NullModel(Model):
    """Near time, wherever the data is."""

    name = "null"

    def times_ns(self, moved: Array) -> Array:
        """Return near time, ns."""
        return np.full(moved.shape[:-1], self.near_time_ns)

    def bound(self) -> Bound:
        """Return compute: the model assumes that nothing waits for memory."""
        return "compute"

    def remarks(self) -> list[str]:
        """Return what its interval is, in a sentence."""
        return [
            "null assumes that nothing waits for memory: its interval is that of near time alone"
        ]

"""No slowdown at all: what every other model must beat."""

from __future__ import annotations

import numpy as np

from nearfar.documents.prediction import Bound
from nearfar.predict.model import MODELS, Model
from nearfar.predict.traffic import Array


@MODELS.register("null")
class NullModel(Model):
    """Time stays what it is in near memory."""

    name = "null"

    def times_ns(self, moved: Array) -> Array:
        """Return near time, ns."""
        return np.full(moved.shape[:-1], self.near_time_ns)

    def bound(self) -> Bound:
        """Say what it takes for granted: nothing waits for memory."""
        return "compute"

    def remarks(self) -> list[str]:
        """Say that its interval is none."""
        return ["null says that nothing waits for memory: its interval is that of near time alone"]

"""Programs that flush: what their fences wait for, beside what the inversion says of the rest.

The default model does the same where flushes were counted; this one is without its bursts and says
so where nobody counted. See `persisting`.
"""

from __future__ import annotations

import numpy as np

from nearfar.predict.memory import Memory
from nearfar.predict.model import MODELS, NO_DOUBT, Doubt
from nearfar.predict.models.inversion import Inversion
from nearfar.predict.persisting import Persisting
from nearfar.predict.traffic import Array, PhaseTraffic


@MODELS.register("persist")
class Persist(Inversion):
    """The inversion, and the difference of what fences wait."""

    name = "persist"

    def __init__(
        self, phase: PhaseTraffic, near: Memory, far: Memory, doubt: Doubt = NO_DOUBT
    ) -> None:
        super().__init__(phase, near, far, doubt)
        self._persisting = Persisting(self)

    def times_ns(self, moved: Array) -> Array:
        """Return the inversion's time with the moved fences' waits exchanged, ns."""
        time_ns = super().times_ns(moved) + self._persisting.added_ns(moved)
        return np.asarray(np.maximum(time_ns, 0.0))

    def remarks(self) -> list[str]:
        """Say what a wait was taken from."""
        return self._persisting.remarks()

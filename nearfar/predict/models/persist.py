"""Programs that flush: what their fences wait for, beside what the inversion says of the rest.

The default model does the same where flushes were counted; this one is without its bursts and says
so where nobody counted. See `persisting` and `fenced_stores`.
"""

from __future__ import annotations

import numpy as np

from nearfar.predict.fenced_stores import FencedStores
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import MODELS, NO_PERTURBATION, Perturbation
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.persisting import Persisting
from nearfar.predict.traffic import Array, PhaseTraffic


@MODELS.register("persist")
class PersistModel(InversionModel):
    """The inversion, and the difference of what fences wait."""

    name = "persist"

    def __init__(
        self,
        phase: PhaseTraffic,
        near: MemoryCosts,
        far: MemoryCosts,
        doubt: Perturbation = NO_PERTURBATION,
    ) -> None:
        super().__init__(phase, near, far, doubt)
        self._persisting = Persisting(self)
        self._fenced = FencedStores(self)

    def times_ns(self, moved: Array) -> Array:
        """Return the inversion's time with the moved fences' waits exchanged, ns."""
        waits_ns = self._persisting.added_ns(moved) + self._fenced.added_ns(moved)
        return np.asarray(np.maximum(super().times_ns(moved) + waits_ns, 0.0))

    def must_hold_ns(self) -> list[float]:
        """Return what fewer or more fetches that fences wait for would make of it, ns."""
        moved = self.phase.total
        time_ns = float(self.times_ns(moved))
        without_ns = time_ns - float(self._fenced.added_ns(moved))
        found = [without_ns + end_ns for end_ns in self._fenced.ends_ns(moved)]
        unsynced_ns = time_ns - float(self._persisting.added_ns(moved))
        found += [unsynced_ns + end_ns for end_ns in self._persisting.ends_ns(moved)]
        return [max(end_ns, 0.0) for end_ns in found]

    def remarks(self) -> list[str]:
        """Say what a wait was taken from."""
        return [*self._fenced.remarks(), *self._persisting.remarks()]

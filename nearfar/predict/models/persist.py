"""Programs that flush: the waits of their fences, added to the inversion of the remainder.

The default model does the same where flushes were counted. This one uses no bursts, and raises an
error where flushes were not counted. See `fences`.
"""

from __future__ import annotations

import numpy as np

from nearfar.predict.fences import FencedStores, PersistWaits
from nearfar.predict.model import MODELS
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.traffic import Array


@MODELS.register("persist")
class PersistModel(InversionModel):
    """The inversion plus the additional waits of fences."""

    name = "persist"

    def prepare(self) -> None:
        """Compute what is the same for all placements."""
        super().prepare()
        self._persisting = PersistWaits(self)
        self._fenced = FencedStores(self)

    def times_ns(self, moved: Array) -> Array:
        """Return the inversion's time plus the additional waits of moved fences, ns."""
        waits_ns = self._persisting.added_ns(moved) + self._fenced.added_ns(moved)
        return np.asarray(np.maximum(super().times_ns(moved) + waits_ns, 0.0))

    def times_to_cover_ns(self) -> list[float]:
        """Return the time with the fewest and most waits of fences, ns."""
        moved = self.phase.total
        time_ns = float(self.times_ns(moved))
        without_ns = time_ns - float(self._fenced.added_ns(moved))
        times = [without_ns + end_ns for end_ns in self._fenced.ends_ns(moved)]
        unsynced_ns = time_ns - float(self._persisting.added_ns(moved))
        times += [unsynced_ns + end_ns for end_ns in self._persisting.ends_ns(moved)]
        return [max(time_ns, 0.0) for time_ns in times]

    def remarks(self) -> list[str]:
        """Return where the waits come from, in sentences."""
        return [*self._fenced.remarks(), *self._persisting.remarks()]

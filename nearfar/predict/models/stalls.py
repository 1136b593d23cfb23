"""Whole programs from one stall share: counted cycles that wait for memory grow as the latency."""

from __future__ import annotations

import numpy as np

from nearfar.predict.model import MODELS, ModelLacksError
from nearfar.predict.models.counters import CountersModel
from nearfar.predict.traffic import Array


@MODELS.register("stalls")
class StallsModel(CountersModel):
    """As `counters`, with the processor's own count of stalls instead of misses."""

    name = "stalls"

    def _stalled_share(self) -> Array:
        counts = self.phase.intervals
        if counts is None or counts.stalled_ns is None:
            raise ModelLacksError(
                "stalls needs cycles and cycles stalled on memory: count cycles and "
                "cycle_activity.stalls_l3_miss (perf), and import that"
            )
        shares = counts.stalled_ns / np.maximum(counts.near_ns, 1.0)
        return np.asarray(np.minimum(shares, 1.0))

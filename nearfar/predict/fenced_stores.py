"""What fences wait longer for lines that a store has to fetch from far memory before its flush.

A store that misses waits in the store buffer, where later loads pass it. Not so before a flush and
a fence: the line is written back only once the store is in it, and the store needs the line first.
So of each fence after flushes, one fetch for ownership is waited for in full, where there is one;
what else was stored since the last fence is fetched meanwhile. Lines stored past the caches are not
fetched, and lines in a stream may have been fetched ahead. Nor is anything added where far memory's
flushes were measured by nearfar: its kernel's stores miss, and the latency holds the fetch.
"""

from __future__ import annotations

import numpy as np

from nearfar.devices import curves
from nearfar.documents.device import DeviceProfile
from nearfar.predict.model import Model
from nearfar.predict.traffic import FENCE, FLUSH, STORE, STORE_STREAM, Array

HIDDEN = 0.5
"""Of these waits, what the interval's low end takes for hidden: how store misses are spread over
fences, and how long before its fence a store began, is not counted. A guess."""


class FencedStores:
    """The difference of fetches that fences wait for, between near and far memory of a model."""

    def __init__(self, model: Model) -> None:
        self._lines = model.doubt.lines
        self._far_ns = model.far.latency_ns
        self._longer_ns = 0.0 if model.far.is_near else self._far_ns - model.near.latency_ns
        fences, flushes, some, streams = model.phase.total[
            [FENCE, FLUSH, STORE, STORE_STREAM]
        ].tolist()
        if _holds_fetch(model.far.device):
            fences = 0.0
        self._waits = min(fences, flushes, some)
        self._per_store = self._waits / max(some, 1.0)
        self._per_store_at_most = min(fences, flushes, some + streams) / max(some + streams, 1.0)
        # Where it ran faster than these waits allow, not all of them are.
        waited_ns = self._waits * self._lines * model.near.latency_ns
        self._scale = min(1.0, model.near_time_ns / max(waited_ns, 1e-9))

    def added_ns(self, moved: Array) -> Array:
        """Return what fences wait longer with `moved` (..., COLUMNS) far, ns."""
        return self._added_ns(moved[..., STORE] * self._per_store)

    def ends_ns(self, moved: Array) -> tuple[float, float]:
        """Return the same of one placement: at least, and had no stream been fetched ahead, ns."""
        every = moved[..., STORE] + moved[..., STORE_STREAM]
        return (
            (1.0 - HIDDEN) * float(self.added_ns(moved)),
            float(self._added_ns(every * self._per_store_at_most)),
        )

    def far_ns(self) -> float:
        """Return these waits with everything far, ns."""
        return float(self._scale * self._lines * self._waits * self._far_ns)

    def remarks(self) -> list[str]:
        """Say how many there are."""
        if not self._waits or not self._longer_ns:
            return []
        return [
            f"about {self._waits:,.0f} fences wait for a line that a store fetches before it is "
            f"flushed, {self._longer_ns:.0f} ns longer in far memory; the interval holds "
            f"{HIDDEN:.0%} of it being hidden"
        ]

    def _added_ns(self, waits: Array) -> Array:
        return np.asarray(waits * (self._lines * self._scale * self._longer_ns))


def _holds_fetch(far: DeviceProfile) -> bool:
    """Return whether the latency of a flushed store is one that missed."""
    return far.measured is not None and any(
        curves.idle_latency_ns(far, "clwb", pattern) is not None
        for pattern in ("random", "sequential")
    )

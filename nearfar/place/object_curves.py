"""Remaining traffic of an object if caches and the TLB held more of its elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from nearfar.base.units import PAGE_BYTES
from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import ObjectTraffic


class Remaining:
    """Ratio of an object's misses in a cache that is some times as large to those in this one."""

    def __init__(self, sizes: Sequence[float], counts: Sequence[float], here_bytes: float) -> None:
        """Take counts by size; without any, all misses remain in any cache."""
        self._factors, self._ratios = np.ones(1), np.ones(1)
        if len(counts) == 0 or here_bytes <= 0.0:
            return
        factors = np.asarray(sizes, dtype=float) / here_bytes
        here = float(np.interp(0.0, np.log2(factors), counts))
        if here > 0.0:
            self._factors, self._ratios = factors, np.asarray(counts) / here

    def at(self, factor: float) -> float:
        """Return the ratio with `factor` times the cache."""
        return float(np.interp(np.log2(factor), np.log2(self._factors), self._ratios))

    def from_below(self, factor: float) -> float:
        """Return the ratio at the largest size of the curve that is not above this one."""
        return self._of_size(int(np.searchsorted(self._factors, factor, "right")) - 1)

    def from_above(self, factor: float) -> float:
        """Return the ratio at the smallest size of the curve that is not below this one."""
        return self._of_size(int(np.searchsorted(self._factors, factor, "left")))

    def _of_size(self, at: int) -> float:
        return min(1.0, float(self._ratios[min(max(at, 0), len(self._ratios) - 1)]))


NONE_LEAVE = Remaining([], [], 0.0)


@dataclass(frozen=True)
class ObjectCurves:
    """Remaining shares of an object's traffic if caches and TLB held more of its elements."""

    lines: Remaining = NONE_LEAVE
    """Misses of the last level."""
    private: Remaining = NONE_LEAVE
    walks: Remaining = NONE_LEAVE
    size: float = inf
    """Size of the object over that of the last level."""


def curves_of(workload: WorkloadProfile, row: ObjectTraffic) -> ObjectCurves:
    """Return an object's curves, as far as the profile has them."""
    core, sizes = workload.core, workload.curve_bytes
    lines = private = walks = NONE_LEAVE
    if row.curve is not None and sizes:
        misses = np.asarray(row.curve.read) + np.asarray(row.curve.write)
        lines = Remaining(sizes, misses.tolist(), workload.cache.size_bytes)
        if core is not None:
            private = Remaining(sizes, misses.tolist(), core.private_bytes)
    if row.page_curve is not None and core is not None:
        touches = (np.asarray(row.page_curve.faults) + row.page_curve.first).tolist()
        walks = Remaining(workload.page_curve_bytes, touches, core.tlb_entries * PAGE_BYTES)
    size = workload.objects[row.object].size_bytes / workload.cache.size_bytes
    return ObjectCurves(lines, private, walks, size)

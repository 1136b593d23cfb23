"""What a contending core takes of a shared cache, by how long a program leaves its lines alone.

A line stays in the cache until as many others have come in as the cache holds: the program's own,
and those that the contending core brings meanwhile. A chase over 3 MiB beside such a core comes
back to a line after 7 ms and finds it gone; a sort of as much data comes back after 0.4 ms and
finds it. So it is not distance in bytes alone that counts, but the time to the next use as well.

What a cache of c bytes holds grows by the lines that miss in it, so a profile's miss curve says how
long a program takes to touch so many bytes: the fill time of the higher-order theory of locality
(Xiang et al., ASPLOS 2013). The chases say how much the contending core brings in a time, and which
share of a miss is waited for after so many bytes. The slower the program, the more is gone when it
comes back, and the more is gone, the slower it is: a fixed point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.predict.core_window import PRIVATE_BYTES
from nearfar.predict.traffic import Array, PhaseMissCurve

CACHED = 0.25
"""Of memory's latency, below which a near chase is one of hits: last levels take 10 to 25 ns."""

TAKEN = 0.1
"""Share of misses more far than near, from which a region says how much was brought in: less is
noise."""


@dataclass(frozen=True)
class Chases:
    """Dependent random reads over regions of rising size, near alone and far beside a core."""

    regions_bytes: Array
    near_ns: Array
    far_ns: Array
    far_miss_ns: float
    """Far, page walks left out: they are in a chase over much data only."""

    @property
    def hit_ns(self) -> float:
        """Latency of the last-level cache, ns."""
        return last_hit_ns(self.near_ns)

    def tell(self) -> bool:
        """Say whether hits and misses can be told apart, near and far."""
        misses_ns = (float(self.near_ns[-1]), float(self.far_ns[-1]), self.far_miss_ns)
        return bool(self.near_ns[0] < CACHED * self.near_ns[-1]) and min(misses_ns) > self.hit_ns

    def near_shares(self) -> Array:
        """Return by region the share of a near miss that is waited for, 0..1."""
        return self._shares(self.near_ns, float(self.near_ns[-1]))

    def far_shares(self) -> Array:
        """Return by region the share of a far miss, page walk included, that is waited for."""
        return self._shares(self.far_ns, float(self.far_ns[-1]))

    def flow_gb_per_s(self) -> float:
        """Return what the contending core brings into the cache; 0 where it has another."""
        near = self.near_shares()
        misses = self._shares(self.far_ns, min(self.far_miss_ns, float(self.far_ns[-1])))
        taken = misses - near > TAKEN
        if not np.any(taken):
            return 0.0
        holds_bytes = 2.0 ** np.interp(
            0.5, np.maximum.accumulate(near), np.log2(self.regions_bytes)
        )
        brought = (holds_bytes - self.regions_bytes[taken]) / self.reuse_ns()[taken]
        return max(float(brought.max()), 0.0)

    def reuse_ns(self) -> Array:
        """Return by region after what time a far chase comes back to a line."""
        return np.asarray(self.regions_bytes / LINE_BYTES * self.far_ns)

    def _shares(self, latencies_ns: Array, miss_ns: float) -> Array:
        return np.clip((latencies_ns - self.hit_ns) / (miss_ns - self.hit_ns), 0.0, 1.0)


def last_hit_ns(latencies_ns: Array) -> float:
    """Return the latency over the largest region of hits, ns; the first where none is."""
    hits_ns = latencies_ns[latencies_ns < CACHED * latencies_ns[-1]]
    return float(hits_ns[-1] if len(hits_ns) else latencies_ns[0])


class TakenCache:
    """Lines of one phase that miss beside a contending core and not alone."""

    def __init__(self, curve: PhaseMissCurve, chases: Chases, wall_ns: float) -> None:
        """`wall_ns` is the time near that the curve's misses are of."""
        self._curve = curve
        self._distances = 2.0**curve.log_distances
        self._fill_ns = fill_ns(curve, wall_ns)
        self._regions = np.log2(chases.regions_bytes)
        self._near = np.interp(curve.log_distances, self._regions, chases.near_shares())
        self._far = chases.far_shares()
        self._flow = chases.flow_gb_per_s()
        passed = chases.regions_bytes + self._flow * chases.reuse_ns()
        self._passed = np.log2(np.maximum.accumulate(passed))
        # A hit's own time is in near time, and stays there.
        self._counted = 1.0 - chases.hit_ns / float(chases.far_ns[-1])

    def most(self) -> float:
        """Return the lines that a program loses which is as slow as the chases."""
        return self._lines(np.interp(self._curve.log_distances, self._regions, self._far))

    def lines(self, slowdown: float) -> float:
        """Return the lines lost at a slowdown over near time."""
        passed = self._distances + self._flow * self._fill_ns * slowdown
        shares = np.interp(np.log2(passed), self._passed, self._far)
        # What the core's own caches hold, no other core takes.
        return self._lines(np.where(self._distances > PRIVATE_BYTES, shares, 0.0))

    def _lines(self, shares: Array) -> float:
        more = np.maximum(shares - self._near, 0.0)
        return float(self._curve.accesses @ more) * self._counted


def fill_ns(curve: PhaseMissCurve, wall_ns: float) -> Array:
    """Return by step of a miss curve how long a program takes to touch so many bytes, ns."""
    # By a step's mean misses: at its end a loop's whole data may fit, and nothing comes in.
    between = np.maximum((curve.misses[:-1] + curve.misses[1:]) / 2.0, TINY)
    steps_ns = np.diff(curve.sizes_bytes) / LINE_BYTES * wall_ns / between
    first_ns = curve.sizes_bytes[0] / LINE_BYTES * wall_ns / max(float(curve.misses[0]), TINY)
    ends_ns = first_ns + np.concatenate([[0.0], np.cumsum(steps_ns)])
    return np.asarray((ends_ns[:-1] + ends_ns[1:]) / 2.0)


TINY = 1e-9
"""Misses; keeps times finite where a cache holds everything."""

"""Lines that a contending core takes from the shared cache: they hit near and miss far.

Next to a core that stores all the time, a chase over 3 MiB took 15 ns near and 130 ns far. The
program's core gets less of the last-level cache than it gets alone. So a program whose data fit
that cache (a skip list, trees) slows down more than its near misses explain.

A line stays in the cache until as many other lines have come in as the cache holds: lines of the
program and of the contending core. A chase over 3 MiB next to such a core returns to a line after
7 ms and misses; a sort of as much data returns after 0.4 ms and hits. So the time until the next
use counts, as well as the distance in bytes.

The content of a cache of c bytes grows by the lines that miss in it. So a profile's miss curve
shows how long a program takes to touch c bytes: the fill time of the higher-order theory of
locality (Xiang et al., ASPLOS 2013). Chases over regions of rising size, near alone and far next to
the contending core, show two things: the rate at which that core brings lines in, and the mean wait
at a reuse, as a share of a miss, by the bytes brought in since. The slower a program is, the more
lines it loses before their reuse, which makes it slower: a fixed point.

The predicted value counts none of these lines, and the interval reaches to all of them, because
caches that protect reused lines from a stream of stores lose fewer than a chase shows. Counting all
of them fitted on one machine (five sessions of `validate`, before page walks at hits were charged);
counting none fitted on two others (six sessions). In four of these six, walks at hits explain the
time that had been ascribed to the lines; the other two were not predicted again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.documents.device import DeviceProfile
from nearfar.predict.core_window import private_bytes
from nearfar.predict.device_figures import latencies_by_region
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.traffic import Array, PhaseMissCurve, PhaseTraffic, misses, streamed

MAX_STEPS, TOLERANCE = 50, 1e-4
"""Steps of the fixed point, and the change of lines at which it ends, as a share of misses."""

MIN_REGIONS = 3
"""Regions needed: a latency in the private caches, in the last level, and in memory."""

CACHED_RATIO = 0.25
"""Share of memory's latency below which a near chase hits: last levels take 10 to 25 ns."""

MIN_TAKEN_SHARE = 0.1
"""Minimum share of additional misses for which a region shows how much was brought in: less is
noise."""

MIN_MISSES = 1e-9
"""Smallest divisor; keeps times finite where a cache holds everything."""


def lines_far(
    phase: PhaseTraffic, near: MemoryCosts, far: MemoryCosts, taken: float = 0.0
) -> float:
    """Return the ratio of misses with everything far to those near, at least 1.

    `taken` is the counted part of the lines that another core takes, 0 to 1. Page walks at hits
    count as misses of the same time.
    """
    more = taken * _lost_lines(phase, near, far) if taken else 0.0
    return 1.0 + more + far.hit_walks_ns / far.latency_ns


def waits_far(
    phase: PhaseTraffic,
    near: MemoryCosts,
    far: MemoryCosts,
    taken: float = 0.0,
    *,
    walking: bool = True,
) -> float:
    """Return the factor on waits of misses that includes waits of far hits, at least 1.

    These are hits that miss or walk pages in far memory. If hits and misses one after another would
    take longer than near time, the hits were not serial: then they overlap more than misses do.
    Without `walking`, only hits that miss far count.
    """
    more = taken * _lost_lines(phase, near, far) if taken else 0.0
    if walking:
        more += far.hit_walks_ns / far.latency_ns
    if more == 0.0:
        return 1.0
    of_misses, of_all = _in_flight(phase, near)
    return 1.0 + more * min(far.cost_ns(of_all) / far.cost_ns(of_misses), 1.0)


@lru_cache(maxsize=1024)
def chases(near: MemoryCosts, far: MemoryCosts) -> RegionChases | None:
    """Return the chases in both memories.

    None where no other core loads the far memory, or where hits and misses cannot be distinguished.
    """
    if far.is_near or not contended(far.device):
        return None
    near_ns, far_ns = (latencies_by_region(m.device, m.page_bytes) for m in (near, far))
    regions = sorted(near_ns.keys() & far_ns.keys())
    if len(regions) < MIN_REGIONS:
        return None
    both = RegionChases(
        np.array(regions, dtype=float),
        np.array([near_ns[size] for size in regions]),
        np.array([far_ns[size] for size in regions]),
        far.unwalked_ns,
    )
    return both if both.separate_hits() else None


@lru_cache(maxsize=1024)
def _lost_lines(phase: PhaseTraffic, near: MemoryCosts, far: MemoryCosts) -> float:
    """Return the lines that a contending core takes, per line that misses near."""
    lines = float(misses(phase.total))
    if phase.curve is None or lines <= 0.0 or (both := chases(near, far)) is None:
        return 0.0
    time_ns = max(phase.near_time_ns.value, 1.0)
    taken = TakenCache(phase.curve, both, time_ns / phase.concurrency, private_bytes(near.core))
    _, of_all = _in_flight(phase, near)
    longer_ns = lines * max(far.cost_ns(of_all) - near.cost_ns(of_all), 0.0)
    # The iteration starts at the maximum: a program starts with an empty cache, as slow as if the
    # other core had taken all of it.
    more = taken.max_lines()
    for _ in range(MAX_STEPS):
        before = more
        more = taken.lines(1.0 + (longer_ns + more * far.cost_ns(of_all)) / time_ns)
        if abs(more - before) <= TOLERANCE * lines:
            break
    return more / lines


@lru_cache(maxsize=1024)
def _in_flight(phase: PhaseTraffic, near: MemoryCosts) -> tuple[float, float]:
    """Return the least mean number of misses in flight by near time, and of misses and hits."""
    time_ns = max(phase.near_time_ns.value, 1.0)
    missing_ns = float(misses(phase.total)) * near.latency_ns
    waiting_ns = missing_ns + farther_hits_ns(phase, near)
    return max(missing_ns / time_ns, 1.0), max(waiting_ns / time_ns, 1.0)


def farther_hits_ns(phase: PhaseTraffic, near: MemoryCosts) -> float:
    """Return the time that hits beyond the first-level cache take in addition to first-level hits.

    The unit is ns, for the whole phase. Hits of streams add nothing, because a prefetcher fetches
    their lines.
    """
    total = phase.total
    lines, latencies = float(misses(total)), latencies_by_region(near.device, near.page_bytes)
    if phase.curve is None or lines <= 0.0 or len(latencies) < MIN_REGIONS:
        return 0.0
    regions = np.array(sorted(latencies), dtype=float)
    near_ns = np.array([latencies[int(size)] for size in regions])
    if near_ns[near_ns < CACHED_RATIO * near_ns[-1]].size == 0:
        return 0.0
    longer_ns = np.maximum(np.minimum(near_ns, last_hit_ns(near_ns)) - near.hit_ns, 0.0)
    inside = PhaseMissCurve(
        phase.curve.sizes_bytes,
        np.maximum(phase.curve.misses - phase.curve.at(phase.curve.here_bytes), 0.0),
        phase.curve.here_bytes,
    )
    in_streams = streamed(total) / lines
    each_ns = np.interp(inside.log_distances, np.log2(regions), longer_ns)
    return float(inside.accesses @ each_ns) * (1.0 - in_streams)


def contended(device: DeviceProfile) -> bool:
    """Return whether another core loaded the memory, and took cache, while it was measured."""
    return device.measured is not None and "load=" in device.measured.memory_spec


@dataclass(frozen=True)
class RegionChases:
    """Dependent random reads over regions of rising size, near alone and far with contention."""

    regions_bytes: Array
    near_ns: Array
    far_ns: Array
    far_miss_ns: float
    """Latency of a far miss without page walks; only a chase over a large region walks pages."""

    @property
    def hit_ns(self) -> float:
        """Latency of the last-level cache, ns."""
        return last_hit_ns(self.near_ns)

    def separate_hits(self) -> bool:
        """Return whether hits and misses can be distinguished, near and far."""
        misses_ns = (float(self.near_ns[-1]), float(self.far_ns[-1]), self.far_miss_ns)
        hits_first = bool(self.near_ns[0] < CACHED_RATIO * self.near_ns[-1])
        return hits_first and min(misses_ns) > self.hit_ns

    def near_shares(self) -> Array:
        """Return by region the share of a near miss that is waited for, 0..1."""
        return self._shares(self.near_ns, float(self.near_ns[-1]))

    def far_shares(self) -> Array:
        """Return by region the share of a far miss, page walk included, that is waited for."""
        return self._shares(self.far_ns, float(self.far_ns[-1]))

    def flow_gb_per_s(self) -> float:
        """Return the rate at which the contending core fills the cache; 0: it uses another one."""
        near = self.near_shares()
        far = self._shares(self.far_ns, min(self.far_miss_ns, float(self.far_ns[-1])))
        taken = far - near > MIN_TAKEN_SHARE
        if not np.any(taken):
            return 0.0
        holds_bytes = 2.0 ** np.interp(
            0.5, np.maximum.accumulate(near), np.log2(self.regions_bytes)
        )
        brought = (holds_bytes - self.regions_bytes[taken]) / self.reuse_ns()[taken]
        return max(float(brought.max()), 0.0)

    def reuse_ns(self) -> Array:
        """Return by region the time after which a far chase returns to a line."""
        return np.asarray(self.regions_bytes / LINE_BYTES * self.far_ns)

    def _shares(self, latencies_ns: Array, miss_ns: float) -> Array:
        return np.clip((latencies_ns - self.hit_ns) / (miss_ns - self.hit_ns), 0.0, 1.0)


def last_hit_ns(latencies_ns: Array) -> float:
    """Return the latency over the largest region of hits, ns; the first latency without hits."""
    hits_ns = latencies_ns[latencies_ns < CACHED_RATIO * latencies_ns[-1]]
    return float(hits_ns[-1] if len(hits_ns) else latencies_ns[0])


class TakenCache:
    """Lines of one phase that miss only next to a contending core."""

    def __init__(
        self, curve: PhaseMissCurve, chases: RegionChases, wall_ns: float, private: float
    ) -> None:
        """Prepare the fixed point; `wall_ns` is the near time of the curve's misses.

        `private` are the bytes of the core's private caches.
        """
        self._private = private
        self._curve = curve
        self._distances = 2.0**curve.log_distances
        self._fill_ns = fill_ns(curve, wall_ns)
        self._regions = np.log2(chases.regions_bytes)
        self._near = np.interp(curve.log_distances, self._regions, chases.near_shares())
        self._far = chases.far_shares()
        self._flow = chases.flow_gb_per_s()
        passed = chases.regions_bytes + self._flow * chases.reuse_ns()
        self._passed = np.log2(np.maximum.accumulate(passed))
        # Near time includes the time of a hit, so only the rest of a miss is added.
        self._counted = 1.0 - chases.hit_ns / float(chases.far_ns[-1])

    def max_lines(self) -> float:
        """Return the lines that a program as slow as the chases loses."""
        return self._lines(np.interp(self._curve.log_distances, self._regions, self._far))

    def lines(self, slowdown: float) -> float:
        """Return the lines lost at a slowdown over near time."""
        passed = self._distances + self._flow * self._fill_ns * slowdown
        shares = np.interp(np.log2(passed), self._passed, self._far)
        # Other cores cannot take lines from the core's private caches.
        return self._lines(np.where(self._distances > self._private, shares, 0.0))

    def _lines(self, shares: Array) -> float:
        more = np.maximum(shares - self._near, 0.0)
        return float(self._curve.accesses @ more) * self._counted


def fill_ns(curve: PhaseMissCurve, wall_ns: float) -> Array:
    """Return, for each step of a miss curve, the time in which a program touches its bytes, ns."""
    # A step counts with its mean misses: at its end, all data of a loop may fit and nothing misses.
    between = np.maximum((curve.misses[:-1] + curve.misses[1:]) / 2.0, MIN_MISSES)
    steps_ns = np.diff(curve.sizes_bytes) / LINE_BYTES * wall_ns / between
    first_ns = curve.sizes_bytes[0] / LINE_BYTES * wall_ns / max(float(curve.misses[0]), MIN_MISSES)
    ends_ns = first_ns + np.concatenate([[0.0], np.cumsum(steps_ns)])
    return np.asarray((ends_ns[:-1] + ends_ns[1:]) / 2.0)

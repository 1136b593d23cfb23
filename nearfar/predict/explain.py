"""Near time explained: the parallelism of misses, and the part that is not memory time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from msgspec.structs import astuple, replace

from nearfar.base.units import LINE_BYTES
from nearfar.predict.core_time import (
    BY_CLASSES,
    MAX_OVERLAP,
    MIN_OVERLAP,
    Overlap,
    StreamFetch,
    TrafficTime,
    core_time_ns,
    loads_ns,
    overlap_at,
    stream_fetch,
    traffic_time,
)
from nearfar.predict.loaded_latency import LoadedFactor
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import NO_PERTURBATION
from nearfar.predict.shared_cache import farther_hits_ns
from nearfar.predict.traffic import (
    HITS,
    STORE_STREAM,
    STREAM,
    Array,
    PhaseTraffic,
    misses,
    write_backs,
)

MAX_HIT_SHARE = 1.0 / 3.0
"""Maximum share of near time that hits take: an out-of-order core overlaps most of them."""

MIN_SCALE = 0.7
"""Smallest ratio of near time to the least time by the near curves at which these fit this program:
simulated parallelism was wrong outside 0.7 to 1.4."""

BISECTION_STEPS = 30
"""Halvings of the factor's range of 2^9: to 1e-8, more precise than any count."""

FREE_BUS_SHARE = 0.5
"""Share of near time above which the bandwidth time of the lines, instead of waiting, may explain
near time."""

MIN_LOADED_CONCURRENCY = 1.05
"""Concurrency above which other threads' traffic makes a loaded latency matter."""


@dataclass(frozen=True)
class Explanation:
    """Result of explaining a phase's near time; the same for every far memory."""

    overlap: Overlap
    streams: StreamFetch
    near_factor: float
    """Loaded over idle latency of near memory at the bandwidth drawn."""
    scale: float
    """Ratio of near time to the least time by the near curves, if below 1; else 1."""
    other_ns: float
    """Near time except waiting for loads; it does not depend on where the data is."""
    queueing: float
    """Factor by which traffic that nothing waits for lengthens waiting in near memory (see
    `core_time_ns`). It counts in far memory too, because it reduced the waiting that near time
    shows."""
    all_near: TrafficTime
    """The phase's traffic in near memory."""
    trust: tuple[float, ...]
    """Factors on the far times of `TrafficTime.alone`, the longest of which is a lower bound. A
    factor is below 1 if the figures give that part alone more time in near memory than near time.
    Then figures or counts do not fit the program, and the part's far time is too long by the same
    factor. Other parts keep their times: a core that fetches more lines for stores than chains show
    does not read faster in sequence."""


@lru_cache(maxsize=512)
def explain(
    phase: PhaseTraffic,
    near: MemoryCosts,
    *,
    near_time: float = 1.0,
    lines: float = 1.0,
    hits: float = 1.0,
    by_classes: bool = False,
    near_curves_hold: bool = False,
    streams_share: float = NO_PERTURBATION.streams_share,
    streams_as_shown: bool = False,
) -> Explanation:
    """Explain the phase's near time: find the overlap of misses that gives this time.

    `near_time`, `lines` and `hits` are factors on near time, all counts, and the time of cache
    hits; `streams_share` and `near_curves_hold` are those of `Perturbation`. With `by_classes`,
    overlap follows from the access classes instead. With `streams_as_shown`, streams have only as
    many lines in flight as near time shows. Results are cached by identity of phase and memory,
    because all far memories share them.
    """
    total = phase.total * lines
    time_ns = phase.near_time_ns.value * near_time
    if float(misses(total) + write_backs(total)) == 0.0 or time_ns <= 0.0:
        idle = _NearCore(total, near, 1.0, phase.concurrency, StreamFetch())
        return idle.explained(BY_CLASSES, time_ns, 1.0, time_ns)
    streams = stream_fetch(phase, near, streams_share)
    if streams_as_shown and streams_share > 0.0:
        streams = _shown_streams(streams, total, near, phase.concurrency, time_ns)
    factor = near_load_factor(phase, near, total, time_ns)
    core = _NearCore(total, near, factor, phase.concurrency, streams)
    if by_classes:
        return _by_classes(core, time_ns)
    # A hit is assumed to lie on the path from one miss to the next, as it does in a search.
    farther_ns = farther_hits_ns(phase, near) * lines * hits
    hit_ns = float(total[HITS]) * near.hit_ns * hits + farther_ns
    between_ns = min(hit_ns, MAX_HIT_SHARE * time_ns)
    overlap_factor = _solve_overlap(lambda x: core.time_ns(overlap_at(x), between_ns), time_ns)
    if farther_ns > between_ns:
        # So many hits cannot be serial. The misses between them are assumed to overlap as much.
        serial_ns = core.time_ns(overlap_at(MIN_OVERLAP), 0.0)

        def with_hits_ns(x: float) -> float:
            alone_ns = core.time_ns(overlap_at(x), 0.0)
            return core.time_ns(overlap_at(x), farther_ns * alone_ns / serial_ns)

        overlap_factor = max(overlap_factor, _solve_overlap(with_hits_ns, time_ns))
    overlap = overlap_at(overlap_factor)
    if overlap.chase > 1.0 and farther_ns <= between_ns:
        # If bandwidth takes all of near time, any overlap fits. A chase overlaps little, so its
        # overlap is at most that at which waiting alone gives near time.
        least = _solve_overlap(lambda x: between_ns + core.waiting_ns(overlap_at(x)), time_ns)
        overlap = replace(overlap, chase=min(overlap.chase, overlap_at(least).chase))
    return _explanation(core, overlap, time_ns, near_curves_hold=near_curves_hold)


class _NearCore:
    """A phase's traffic in near memory, on the core that near time was measured on."""

    def __init__(
        self,
        total: Array,
        near: MemoryCosts,
        factor: float,
        concurrency: float,
        streams: StreamFetch,
    ) -> None:
        self._total, self._near, self.factor, self.streams = total, near, factor, streams
        any_overlap = traffic_time(total, near, BY_CLASSES, streams, concurrency)
        _, *self._others = astuple(any_overlap)

    def part(self, overlap: Overlap) -> TrafficTime:
        """Return the traffic's time at an overlap, on which only the loads' waiting depends."""
        return TrafficTime(self._loads_ns(overlap), *self._others)

    def time_ns(self, overlap: Overlap, other_ns: float) -> float:
        """Return the core's time at an overlap, with `other_ns` besides waiting."""
        return self.time_of_ns(self.part(overlap), other_ns)

    def time_of_ns(self, part: TrafficTime, other_ns: float) -> float:
        """Return the core's time for the traffic, with `other_ns` besides waiting."""
        return float(core_time_ns(other_ns, [part], [self.factor]))

    def waiting_ns(self, overlap: Overlap) -> float:
        """Return the waiting of loads, as if everything else were hidden."""
        return self._loads_ns(overlap) * self.factor

    def _loads_ns(self, overlap: Overlap) -> float:
        return loads_ns(self._total, self._near, overlap, self.streams)

    def queueing(self, overlap: Overlap, other_ns: float, time_ns: float) -> float:
        """Return how much traffic that nothing waits for lengthens waiting.

        The factor falls to 1 as bandwidth takes more of near time, which then shows bandwidth
        instead of waiting.
        """
        part = self.part(overlap)
        undelayed = replace(part, all_lines=part.reads)
        undelayed_ns = self.time_of_ns(undelayed, other_ns)
        if undelayed_ns <= 0.0:
            return 1.0
        idle = (1.0 - float(part.all_lines) / time_ns) / (1.0 - FREE_BUS_SHARE)
        lengthened = self.time_of_ns(part, other_ns) / undelayed_ns
        return float(lengthened ** min(max(idle, 0.0), 1.0))

    def explained(
        self,
        overlap: Overlap,
        time_ns: float,
        scale: float,
        other_ns: float,
        queueing: float = 1.0,
    ) -> Explanation:
        """Return the explanation with the figures of near memory that far times need."""
        part = self.part(overlap)
        trust = (min(1.0, time_ns / ns) if ns > 0.0 else 1.0 for ns in map(float, part.alone))
        return Explanation(
            overlap, self.streams, self.factor, scale, other_ns, queueing, part, tuple(trust)
        )


def _explanation(
    core: _NearCore, overlap: Overlap, time_ns: float, *, near_curves_hold: bool
) -> Explanation:
    """Find the part of near time that is not memory, or by how much memory time exceeds it."""
    memory_ns, other_ns, scale = core.time_ns(overlap, 0.0), 0.0, 1.0
    if memory_ns < time_ns:
        other_ns = _solve_other_ns(core, overlap, time_ns)
    elif not near_curves_hold:
        scale = time_ns / memory_ns
    queueing = core.queueing(overlap, other_ns, time_ns)
    return core.explained(overlap, time_ns, scale, other_ns, queueing)


def _shown_streams(
    streams: StreamFetch, total: Array, near: MemoryCosts, concurrency: float, time_ns: float
) -> StreamFetch:
    """Return the streams with only as many lines in flight as near time shows.

    Concurrent streams may have more lines in flight than one stream. Near time shows this only if
    they take less time than with the lines in flight of one stream.
    """
    single = replace(streams, at_once=1.0)
    only_streams = np.zeros_like(total)
    only_streams[[STREAM, STORE_STREAM]] = total[[STREAM, STORE_STREAM]]
    alone = traffic_time(only_streams, near, BY_CLASSES, single, concurrency)
    shown = max(float(alone.stream), float(alone.buffers)) / time_ns
    return replace(streams, at_once=min(max(shown, 1.0), streams.count))


def _by_classes(core: _NearCore, time_ns: float) -> Explanation:
    """Explain near time with the overlap of the access classes alone.

    If misses could take all of near time, the classes give the ratio of far to near time, so that
    errors of both times cancel. If even serial misses take less, the remainder is not memory time.
    """
    memory_ns = core.time_ns(BY_CLASSES, 0.0)
    if core.time_ns(overlap_at(MIN_OVERLAP), 0.0) >= time_ns or memory_ns >= time_ns:
        return core.explained(BY_CLASSES, time_ns, time_ns / memory_ns, 0.0)
    other_ns = _solve_other_ns(core, BY_CLASSES, time_ns)
    return core.explained(BY_CLASSES, time_ns, 1.0, other_ns)


def beaten_curves(phases: Sequence[PhaseTraffic], near: MemoryCosts) -> list[str]:
    """Return a warning where a phase ran faster than the near memory's figures allow."""
    beaten = [
        f"{phase.name} by {1.0 - scale:.0%}"
        for phase in phases
        if (scale := explain(phase, near).scale) < MIN_SCALE
    ]
    if not beaten:
        return []
    return [
        f"near time is shorter than the figures of {near.device.name} allow ({', '.join(beaten)}): "
        "caches or prefetchers do more than the misses show, or the figures are another machine's"
    ]


def load_curve(phase: PhaseTraffic, memory: MemoryCosts) -> LoadedFactor | None:
    """Return the loaded-latency curve where it adds to what the chains curve includes."""
    if memory.chains_measured and phase.concurrency <= MIN_LOADED_CONCURRENCY:
        return None
    return memory.loaded_latency(phase.read_share)


def drawn_gb_per_s(
    phase: PhaseTraffic, memory: MemoryCosts, lines: Array, time_ns: Array | float
) -> Array:
    """Return the drawn bandwidth that makes latency rise, GB/s, at a CPU time of the phase.

    A measured chains curve includes the load of its core: only the other threads' is added.
    """
    moved_bytes = (misses(lines) + write_backs(lines)) * LINE_BYTES
    threads = phase.concurrency - (1.0 if memory.chains_measured else 0.0)
    return np.asarray(moved_bytes / np.maximum(time_ns, 1.0) * max(threads, 0.0))


def near_load_factor(phase: PhaseTraffic, near: MemoryCosts, total: Array, time_ns: float) -> float:
    """Return loaded over idle latency of near memory during the measured phase."""
    curve = load_curve(phase, near)
    if curve is None:
        return 1.0
    return float(curve.at(drawn_gb_per_s(phase, near, total, time_ns)))


def _solve_other_ns(core: _NearCore, overlap: Overlap, time_ns: float) -> float:
    """Return the time besides memory at which the core takes `time_ns`; with none it takes less."""
    part, low, high = core.part(overlap), 0.0, time_ns
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        if core.time_of_ns(part, middle) > time_ns:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def _solve_overlap(core_ns: Callable[[float], float], time_ns: float) -> float:
    """Return the greatest overlap factor at which memory explains at least `time_ns`."""
    if core_ns(MIN_OVERLAP) <= time_ns:
        return MIN_OVERLAP
    if core_ns(MAX_OVERLAP) >= time_ns:
        return MAX_OVERLAP
    low, high = math.log2(MIN_OVERLAP), math.log2(MAX_OVERLAP)
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        if core_ns(2.0**middle) > time_ns:
            low = middle
        else:
            high = middle
    return float(2.0**high)

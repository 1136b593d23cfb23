"""Whole programs from counters: misses wait, all bytes draw bandwidth, interval by interval.

As PROFET does (Radulovic et al., SIGMETRICS 2019), bytes over time are the bandwidth that the
program draws, and a memory's loaded-latency curve gives the latency of a miss at that bandwidth.
Only counts are used (near time, last-level misses, bytes), so counters of any machine are enough.
Four rules say what that latency costs:

- Misses wait; prefetched lines and write-backs only draw bandwidth.
- Misses come at times that do not depend on each other. With I of them in flight on average, some
  miss is in flight for 1 - exp(-I) of the time (the busy share of a queue with enough servers).
  That share of near time is stalled and grows as the latency does; the rest stays. I is that at
  idle latency: load slows the program down, and so hides how many misses it would have in flight.
- At a memory's wall everything waits: prefetched lines come late too. Of the time that misses do
  not explain, a share waits that rises steeply as the drawn bandwidth reaches the curve's end.
- On the far memory, and on the near one for what stays there, latency is that at the bandwidth
  drawn in the predicted time: a fixed point. No time is shorter than its bytes over the bandwidth
  of a wall.

A chase waits for every miss (I is 1, all of the time is stalled), which counters do not show: the
interval reaches most of the way. Where a memory has no loaded-latency curve, it has its idle
latency up to its bandwidth.

Of a profile's phases, nobody counted which lines were prefetched: all of them wait, one after the
other, up to all of near time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.documents.prediction import Bound
from nearfar.predict.device_figures import ERROR_OF
from nearfar.predict.loaded_latency import LoadedFactor, settled_factors
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import MODELS, Model
from nearfar.predict.traffic import (
    Array,
    CountedIntervals,
    PhaseTraffic,
    misses,
    read_share,
    write_backs,
)

WALL_SHARPNESS = 16.0
"""Exponent of drawn over greatest bandwidth in the share that waits for late lines: half of the
time that misses do not explain waits at 0.96, a tenth at 0.87. With one of PROFET's 17 training
programs left out, the others were best at 12 for 15 of them with the library's curves, at 32 with
the published ones; errors differ by a tenth in between."""

SATURATED = 1.5
"""Loaded over idle latency at a curve's end from which that end is the memory's wall: a curve that
was measured with too few threads ends earlier."""

COUNTED_ONCE = 0.02
"""Relative error of a time that was counted once: two runs of a program on one memory differ by
that much."""

OTHER_KIND = 0.04
"""The same error where the memories are of two kinds: loaded-latency curves leave out page walks
and the path to the memory."""

NEAR_WALL = 0.9
"""Share of all-far time that bytes over bandwidth take, from which bandwidth is the bound."""

MIN_BEYOND = 0.01
"""Minimum distance beyond a curve's end that counts: figures are no more precise than that."""

MAX_STEPS = 30
"""Newton steps: the function is convex and the start lies above its root, so few are needed."""

MIN_SLOPE, MIN_NS = 1e-9, 1e-9
"""Smallest divisors, to keep quotients finite."""


@dataclass(frozen=True, eq=False)
class _LoadedMemory:
    """One memory at the program's read share."""

    latency_ns: float
    curve: LoadedFactor | None
    line_ns: tuple[float, float]
    """Bandwidth time of a line: (read, written)."""
    bandwidth: float
    """Factor on the curve's bandwidths."""

    @staticmethod
    def of(memory: MemoryCosts, share: float, bandwidth: float = 1.0) -> _LoadedMemory:
        """Return a memory at a read share; `bandwidth` is its perturbation."""
        line_ns = (memory.read_ns[1], memory.write_ns[1])
        return _LoadedMemory(memory.latency_ns, memory.loaded_latency(share), line_ns, bandwidth)

    def loaded_ns(self, drawn_gb_per_s: Array) -> Array:
        """Return the latency of a miss at a drawn bandwidth, ns."""
        if self.curve is None:
            return np.full_like(drawn_gb_per_s, self.latency_ns)
        return self.latency_ns * self.curve.at(drawn_gb_per_s / self.bandwidth)

    @property
    def wall_gb_per_s(self) -> float | None:
        """Bandwidth at which the curve reaches the wall; None where it does not."""
        if self.curve is None or self.curve.greatest < SATURATED:
            return None
        return self.curve.end_gb_per_s * self.bandwidth

    def wall_share(self, drawn_gb_per_s: Array) -> Array:
        """Return the share of time besides misses that waits for late lines; 0 without a wall."""
        wall = self.wall_gb_per_s
        if wall is None:
            return np.zeros_like(drawn_gb_per_s)
        return np.asarray(np.minimum(drawn_gb_per_s / wall, 1.0) ** WALL_SHARPNESS)

    def least_ns(self, lines: Array, written: Array) -> Array:
        """Return the least wall time of lines read and written, ns."""
        moved_ns = np.asarray(lines * self.line_ns[0] + written * self.line_ns[1])
        if self.curve is None:
            return moved_ns
        at_end_ns = (lines + written) * LINE_BYTES / (self.curve.end_gb_per_s * self.bandwidth)
        return at_end_ns if self.wall_gb_per_s is not None else np.minimum(moved_ns, at_end_ns)


@MODELS.register("counters")
class CountersModel(Model):
    """Near time whose stalled part grows as the loaded latency."""

    name = "counters"
    deviation_share = 0.8

    @classmethod
    def figure_errors(cls, memory: MemoryCosts) -> tuple[float, float]:
        """Return the errors of published loaded-latency curves, else those of the memory's figures.

        Such a curve has latency and bandwidth, so that derived figures are not used.
        """
        how = [curve.how for curve in memory.device.loaded_latency if curve.instruction == "load"]
        if not how or memory.device.measured is not None:
            return super().figure_errors(memory)
        error = max(ERROR_OF[each] for each in how)
        return min(error, memory.latency_error), min(error, memory.bandwidth_error)

    def prepare(self) -> None:
        """Compute what is the same for all placements."""
        counts = self.phase.intervals or _whole(self.phase)
        share = read_share(self.phase.total)
        changed = self.perturbation
        self._near = _LoadedMemory.of(self.near, share, changed.near_bandwidth)
        self._far = _LoadedMemory.of(self.far, share, changed.far_bandwidth)
        # The phase's totals hold where a target machine or a perturbation changed them.
        self._near_ns = _scaled_to_total(counts.near_ns, self.near_time_ns)
        self._concurrency = counts.concurrency
        self._lines = _scaled_to_total(counts.lines, float(misses(self.total)))
        self._written = _scaled_to_total(counts.written, float(write_backs(self.total)))
        drawn = _quotient(self._moved_bytes(self._lines, self._written), self._near_ns)
        self._latency_ns = self._near.loaded_ns(drawn)
        waiting_ns = self._lines * _quotient(counts.waiting, counts.lines) * self._latency_ns
        self._in_flight = _quotient(waiting_ns, self._near_ns)
        self._stalled_ns = self._near_ns * self._stalled_share()
        late_share = 0.0 if self.phase.intervals is None else self._near.wall_share(drawn)
        self._waiting_ns = self._stalled_ns + (self._near_ns - self._stalled_ns) * late_share
        least_ns = self._near.least_ns(self._lines, self._written) * self._concurrency
        # If the program ran faster than near bandwidth allows, the bandwidths of both memories are
        # too low by this factor.
        beaten = np.minimum(1.0, _quotient(self._near_ns, least_ns, 1.0))
        self._beaten = np.ones_like(beaten) if changed.near_curves_hold else beaten

    def _stalled_share(self) -> Array:
        """Return the share of near time that waits for misses, by interval."""
        if self.phase.intervals is None or self.perturbation.parallelism == "classes":
            return np.minimum(self._in_flight, 1.0)
        return stalled_share(self._in_flight, self.near.latency_ns / self._latency_ns)

    def times_ns(self, moved: Array) -> Array:
        """Return the sum over intervals of work, stalls and the bandwidth of both memories, ns."""
        if self.far.is_near:
            return np.full(moved.shape[:-1], self.near_time_ns)
        total = self.phase.total
        lines = _quotient(misses(moved), misses(total))[..., np.newaxis]
        written = _quotient(write_backs(moved), write_backs(total))[..., np.newaxis]
        near_lines, near_written = (1.0 - lines) * self._lines, (1.0 - written) * self._written
        far_lines, far_written = lines * self._lines, written * self._written
        least_ns = self._beaten * np.maximum(
            self._near.least_ns(near_lines, near_written),
            self._far.least_ns(far_lines, far_written),
        )
        least_ns = least_ns * self._concurrency
        near_bytes = self._moved_bytes(near_lines, near_written)
        far_bytes = self._moved_bytes(far_lines, far_written)
        stay = 1.0 - lines

        def time_ns(assumed_ns: Array) -> Array:
            near_ns = self._near.loaded_ns(near_bytes / assumed_ns)
            far_ns = self._far.loaded_ns(far_bytes / assumed_ns)
            longer = (stay * near_ns + lines * far_ns) / self._latency_ns
            unbound_ns = self._near_ns + self._waiting_ns * (longer - 1.0)
            return np.asarray(np.maximum(unbound_ns, least_ns))

        # Without load, latencies are idle latencies, which gives the shortest possible time.
        shortest_ns = np.maximum(time_ns(np.full(least_ns.shape, np.inf)), MIN_NS)
        longest = float(np.max(time_ns(shortest_ns) / shortest_ns, initial=1.0))
        factors = settled_factors(
            lambda tried: time_ns(tried * shortest_ns) / shortest_ns, longest, least_ns.shape
        )
        return np.asarray((factors * shortest_ns).sum(axis=-1))

    def beyond_curves(self) -> dict[str, float]:
        """Return where drawn bandwidths exceed the ends of the memories' curves."""
        if self.far.is_near:
            return {}
        beyond = {}
        for memory, loaded, time_ns in (
            (self.near, self._near, self.near_time_ns),
            (self.far, self._far, float(self.times_ns(self.phase.total))),
        ):
            if loaded.curve is not None and time_ns > 0.0:
                moved = float(misses(self.total) + write_backs(self.total)) * LINE_BYTES
                predicate = (
                    f"draws {{:.0%}} more bandwidth from {memory.device.name} than its "
                    "loaded-latency curve covers"
                )
                drawn = moved * self.phase.concurrency / time_ns
                beyond[predicate] = drawn / loaded.curve.end_gb_per_s - 1.0
        return {text: distance for text, distance in beyond.items() if distance > MIN_BEYOND}

    def bound(self) -> Bound:
        """Return "bandwidth" if everything far is at the wall, else "latency" or "compute".

        It is "latency" if more than half of near time waits.
        """
        least_ns = self._far.least_ns(self._lines, self._written) * self._concurrency
        far_ns = float(self.times_ns(self.phase.total))
        if float(least_ns.sum()) > NEAR_WALL * far_ns:
            return "bandwidth"
        return "latency" if float(self._waiting_ns.sum()) > 0.5 * self.near_time_ns else "compute"

    def remarks(self) -> list[str]:
        """Return a sentence where more misses are in flight than a core has buffers for."""
        buffers = self.near.core.miss_buffers
        most = float(self._in_flight.max(initial=0.0))
        if buffers is None or self.phase.intervals is None or most <= buffers.range[1]:
            return []
        return [
            f"phase {self.phase.name!r} has up to {most:.0f} misses in flight on a core, more than "
            f"its {buffers.range[1]:.0f} miss buffers: misses of other programs were counted, CPU "
            f"time is incomplete, or {self.near.device.name} is not the memory they were counted on"
        ]

    def unexplained(self) -> float:
        """Return the error of a time that was counted once; a profile's has an interval."""
        if self.phase.intervals is None:
            return 0.0
        same_kind = self.near.device.technology == self.far.device.technology
        return COUNTED_ONCE if same_kind else OTHER_KIND

    def effective_parallelism(self) -> float | None:
        """Return misses in flight while there are any, over the whole phase."""
        stalled_ns = float(self._stalled_ns.sum())
        waiting_ns = float((self._in_flight * self._near_ns).sum())
        return waiting_ns / stalled_ns if stalled_ns > 0.0 else None

    def _moved_bytes(self, lines: Array, written: Array) -> Array:
        """Return the bytes that all threads move: over CPU time, the bandwidth drawn in GB/s."""
        return (lines + written) * LINE_BYTES * self._concurrency


def stalled_share(in_flight: Array, idle_share: Array) -> Array:
    """Return the share of time with a miss in flight, given the mean number in flight.

    `idle_share` is idle over loaded latency. If a share b of the time is stalled at idle latency,
    load lengthens a time of 1 to 1 + b (1 / idle_share - 1), during which fewer misses are in
    flight at once.
    """
    unloaded = np.asarray(in_flight, dtype=float)
    for _ in range(MAX_STEPS):
        quiet = np.exp(-unloaded)
        error = unloaded - in_flight * (1.0 - (1.0 - idle_share) * quiet)
        slope = 1.0 - in_flight * (1.0 - idle_share) * quiet
        unloaded = np.maximum(unloaded - error / np.maximum(slope, MIN_SLOPE), 0.0)
    busy = -np.expm1(-unloaded)
    return np.asarray(busy / np.maximum(idle_share + (1.0 - idle_share) * busy, MIN_SLOPE))


def _whole(phase: PhaseTraffic) -> CountedIntervals:
    """Return a phase's totals as one interval in which all lines are waited for."""
    total, lines = phase.total, misses(phase.total)
    return CountedIntervals(
        near_ns=np.array([phase.near_time_ns.value]),
        concurrency=np.array([phase.concurrency]),
        waiting=np.array([float(lines)]),
        lines=np.array([float(lines)]),
        written=np.array([float(write_backs(total))]),
    )


def _scaled_to_total(counts: Array, total: float) -> Array:
    """Return counts scaled to a total."""
    return counts * _quotient(np.asarray(total), counts.sum())


def _quotient(part: Array, whole: Array, otherwise: float = 0.0) -> Array:
    """Return part over whole, `otherwise` where the whole is 0."""
    some = whole > MIN_NS
    return np.asarray(np.where(some, part / np.where(some, whole, 1.0), otherwise))

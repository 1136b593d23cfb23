"""Whole programs from counters: a point on the near memory's curve, moved to the far one's.

As PROFET does (Radulovic et al., SIGMETRICS 2019): bytes over time is the bandwidth that the
program draws, the near loaded-latency curve gives the wait of a miss at that bandwidth, and misses
times that latency over time is the number in flight. On the far memory, latency follows from the
far curve at the bandwidth drawn in the predicted time: a fixed point. Only totals are used (near
time, last-level misses, bytes), so counters of any machine are enough; no classes, no objects.

Where even serial misses could not fill near time, the remainder is computation and stays. Where a
memory has no loaded-latency curve, it has its idle latency up to its bandwidth.
"""

from __future__ import annotations

import numpy as np

from nearfar.base.estimate import Estimate
from nearfar.base.units import LINE_BYTES
from nearfar.documents.prediction import Bound
from nearfar.predict.loaded_latency import settled_factors
from nearfar.predict.model import MODELS, Model
from nearfar.predict.traffic import (
    COLUMNS,
    INDEPENDENT,
    WRITE_BACK,
    Array,
    PhaseTraffic,
    misses,
    read_share,
    write_backs,
)


@MODELS.register("counters")
class CountersModel(Model):
    """Near time whose waiting part grows as the loaded latency."""

    name = "counters"

    def prepare(self) -> None:
        """Compute what is the same for all placements."""
        share = read_share(self.phase.total)
        self._near_curve = self.near.loaded_latency(share)
        self._far_curve = self.far.loaded_latency(share)
        lines = float(misses(self.total))
        drawn = self._drawn(self.total, self.near_time_ns)
        factor = 1.0 if self._near_curve is None else float(self._near_curve.at(drawn))
        waiting_ns = lines * self.near.latency_ns * factor
        self.in_flight = max(1.0, waiting_ns / self.near_time_ns) if self.near_time_ns > 0 else 1.0
        self._near_wait_ns = self.near.latency_ns * factor / self.in_flight

    def times_ns(self, moved: Array) -> Array:
        """Return near time plus the longer waits of moved misses, as a fixed point, ns."""
        if self.far.is_near:
            return np.full(moved.shape[:-1], self.near_time_ns)
        moved = moved * self.perturbation.lines
        lines = misses(moved)
        floor = lines * self.far.read_ns[1] + write_backs(moved) * self.far.write_ns[1]
        floor = floor * self.phase.concurrency

        def time(factor: Array) -> Array:
            wait_ns = self.far.latency_ns * factor / self.in_flight
            added = lines * (wait_ns - self._near_wait_ns)
            return np.maximum(np.maximum(self.near_time_ns + added, floor), 0.0)

        curve = self._far_curve
        if curve is None:
            return np.asarray(time(np.ones(moved.shape[:-1])))
        factors = settled_factors(
            lambda tried: curve.at(self._drawn(moved, time(tried))),
            curve.greatest,
            moved.shape[:-1],
        )
        return np.asarray(time(factors))

    def beyond_curves(self) -> dict[str, float]:
        """Return where drawn bandwidths exceed the ends of the memories' curves."""
        if self.far.is_near:
            return {}
        beyond = {}
        for memory, curve, time_ns in (
            (self.near, self._near_curve, self.near_time_ns),
            (self.far, self._far_curve, float(self.times_ns(self.phase.total))),
        ):
            if curve is not None:
                drawn = float(self._drawn(self.total, time_ns))
                predicate = (
                    f"draws {{:.0%}} more bandwidth from {memory.device.name} than its "
                    "loaded-latency curve covers"
                )
                beyond[predicate] = drawn / curve.end_gb_per_s - 1.0
        return {text: distance for text, distance in beyond.items() if distance > 0.0}

    def bound(self) -> Bound:
        """Return compute where less than half of near time could be waiting, else latency."""
        waiting_ns = float(misses(self.total)) * self._near_wait_ns
        return "latency" if waiting_ns > 0.5 * self.near_time_ns else "compute"

    def effective_parallelism(self) -> float | None:
        """Return misses in flight by Little's law."""
        return self.in_flight

    def _drawn(self, lines: Array, time_ns: Array | float) -> Array:
        moved_bytes = (misses(lines) + write_backs(lines)) * LINE_BYTES
        return np.asarray(moved_bytes * self.phase.concurrency / np.maximum(time_ns, 1.0))


def counters_phase(
    name: str,
    near_time_ns: float,
    llc_misses: float,
    written_bytes: float = 0.0,
    concurrency: float = 1.0,
) -> PhaseTraffic:
    """Return the phase that totals describe, for programs of which only counters are known.

    `near_time_ns` is CPU time of all threads, `llc_misses` lines read. Raises ValueError for
    impossible times or counts.
    """
    if not (near_time_ns > 0 and llc_misses >= 0 and written_bytes >= 0 and concurrency >= 1):
        raise ValueError("near time must be above 0, counts at least 0, threads at least 1")
    lines = np.zeros((1, COLUMNS))
    lines[0, INDEPENDENT], lines[0, WRITE_BACK] = llc_misses, written_bytes / LINE_BYTES
    time = Estimate(near_time_ns, near_time_ns, near_time_ns)
    return PhaseTraffic(name, time, concurrency, None, lines, 0.0)

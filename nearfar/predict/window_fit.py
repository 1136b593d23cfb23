"""Fit a simulated window to near time.

The figures of a core do not determine how much work lies between misses, how far misses overlap, or
the cost of a misprediction (`core_window.CoreUnknowns`). Each unknown has a value of 0 and a
standard deviation. Near time is one equation for all of them. The most plausible values with which
simulated near time equals the measured one are the solution of a linear Gaussian model, whose
slopes are simulated. With these values the window runs on the far memory.

The same slopes, near and far, give the variation of far time among all values that reproduce near
time: the fit's spread. The distance, in standard deviations, that the unknowns had to move gives
the plausibility of the window for this program: its weight.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from math import exp, hypot, log, sqrt

import numpy as np
from numpy.typing import NDArray

from nearfar._window import Core, Medium, run
from nearfar.predict.core_window import (
    CoreUnknowns,
    PhaseLines,
    core,
    cycle_ns,
    deviations,
    medium,
    miss_buffers,
    private_bytes,
)
from nearfar.predict.memory import MemoryCosts, scaled_memory
from nearfar.predict.traffic import Array, PhaseTraffic, misses, streamed, write_backs
from nearfar.profile.bursts.trace import BurstTrace

NAMES = tuple(field.name for field in fields(CoreUnknowns))

TOLERANCE = 0.02
"""Logarithmic error of near time that the fit ignores: bursts are a sample of the phase."""

MAX_DEVIATIONS = 2.5
"""Standard deviations beyond which no unknown is moved."""

STEPS = 3
"""Corrections of the linear solution, each by one simulation."""

WEIGHT_SCALE = 2.0
"""Standard deviations of all unknowns together at which the window's weight is exp(-1/2)."""

MIN_UNPLACED = 1.02
"""Expected over placed misses from which the difference is more than rounding."""

REFERENCE = 3.0
"""Ratio of latencies, and of bandwidths, of the memories for which slopes are simulated."""


@dataclass(frozen=True)
class Fit:
    """A window whose simulated near time is the measured one, as far as possible."""

    unknown: CoreUnknowns
    moved: dict[str, float]
    """Standard deviations that each unknown was moved by."""
    near_ns: float
    """Simulated time per miss."""
    measured_ns: float
    """Measured time per miss."""
    plain_ns: float
    """Simulated time per miss with the core's figures as they are."""
    distance: float
    """Standard deviations of all unknowns and of the remaining difference, in quadrature."""
    spreads: tuple[float, float]
    """Logarithmic standard deviations of far time, among all values that reproduce near time. The
    first memory has `REFERENCE` times near's latency, the second such a time of a line."""

    @property
    def weight(self) -> float:
        """How plausible the window is, 0..1."""
        return exp(-0.5 * (self.distance / WEIGHT_SCALE) ** 2)

    def far_ns(self, simulated_ns: float) -> float:
        """Return time per miss in far memory; `simulated_ns` is the window's time there.

        If the fitted window is still slower in near memory than the measured time, it waits too
        much, and the time that far memory adds is reduced in proportion. If it is faster, the
        difference is work that memory does not change.
        """
        remains = max(self.near_ns / self.measured_ns, 1.0)
        return self.measured_ns + (simulated_ns - self.near_ns) / remains

    def spread(self, near: MemoryCosts, far: MemoryCosts) -> float:
        """Return the logarithmic standard deviation of time in `far` among all fits."""
        latency, line = (
            abs(log(slow / fast)) / log(REFERENCE)
            for slow, fast in (
                (far.latency_ns, near.latency_ns),
                (far.read_ns[1] + far.write_ns[1], near.read_ns[1] + near.write_ns[1]),
            )
        )
        return hypot(self.spreads[0] * latency, self.spreads[1] * line)


class WindowSimulation:
    """A phase's bursts in a window whose core and near memory are given."""

    def __init__(self, phase: PhaseTraffic, near: MemoryCosts, trace: BurstTrace) -> None:
        """Prepare what is the same for all memories and unknowns."""
        self.trace = trace
        self.near = near
        count = float(misses(phase.total))
        self.lines = PhaseLines(
            sequential=streamed(phase.total) / count,
            written=float(write_backs(phase.total)) / count,
            streams=phase.streams,
            threads=phase.concurrency,
        )
        self.last_level = _last_level_hits(phase, private_bytes(near.core))
        placed = float(self.trace.missing.sum())
        self._served = self.trace.served(min(self.last_level * placed, float(len(self.trace.hits))))
        self._all_hit = np.zeros_like(self._served)
        unplaced = self.trace.expected / max(placed, 1.0)
        self._unplaced = unplaced if unplaced > MIN_UNPLACED else 1.0

    def per_miss_ns(
        self, memory: MemoryCosts, unknown: CoreUnknowns, shared_ns: float = 0.0
    ) -> float:
        """Return the window's time per miss with everything in `memory`, ns.

        `shared_ns` is the additional wait of an access that the last level answers, because a
        contending core took part of that cache.
        """
        buffers = miss_buffers(self.near, memory)
        everywhere = medium(memory, self.near, self.lines, buffers, unknown)
        cycle = cycle_ns(self.near) * exp(unknown.clock)
        simulated = core(self.near.core, unknown, buffers, shared_ns / cycle)
        cycles, missed = self._cycles(self._served, simulated, everywhere)
        if self._unplaced > 1.0:
            # Some lines miss repeatedly in one burst, but only once in the window. The further
            # misses are assumed to wait as the others do.
            work, _ = self._cycles(self._all_hit, simulated, everywhere)
            cycles = work + max(cycles - work, 0.0) * self._unplaced
            missed *= self._unplaced
        return max(cycles, 1.0) * cycle / max(1.0, missed)

    def _cycles(
        self, served: NDArray[np.uint8], simulated: Core, everywhere: Medium
    ) -> tuple[float, float]:
        times = run(self.trace.native, served, simulated, everywhere, everywhere)
        return float(times.cycles), float(times.misses)


@lru_cache(maxsize=256)
def simulation(phase: PhaseTraffic, near: MemoryCosts) -> WindowSimulation:
    """Return the simulation; cached by identity, because 50 far memories need the same."""
    assert phase.bursts is not None
    return WindowSimulation(phase, near, phase.bursts.trace)


@lru_cache(maxsize=256)
def fit_window(phase: PhaseTraffic, near: MemoryCosts) -> Fit:
    """Return the window that takes the phase's near time; cached by identity."""
    window = simulation(phase, near)
    assert phase.bursts is not None
    slopes = _Slopes(WindowSimulation(phase, near, phase.bursts.short_trace))
    measured_ns = phase.near_time_ns.value / float(misses(phase.total))
    plain_ns = window.per_miss_ns(near, CoreUnknowns())
    toward = 1.0 if measured_ns >= plain_ns else -1.0
    near_slopes = slopes.at(near, {}, toward)
    moved, near_ns = _solve(window, slopes, near_slopes, measured_ns, plain_ns)
    remains = max(abs(log(measured_ns / near_ns)) - TOLERANCE, 0.0)
    return Fit(
        unknown=slopes.unknown(moved),
        moved=moved,
        near_ns=near_ns,
        measured_ns=measured_ns,
        plain_ns=plain_ns,
        distance=hypot(*moved.values(), remains / (2.0 * TOLERANCE)),
        spreads=slopes.spreads(near_slopes, moved, -toward),
    )


class _Slopes:
    """How much the time per miss changes with each unknown, by a simulation of fewer bursts."""

    def __init__(self, window: WindowSimulation) -> None:
        self._window = window
        self._sds = deviations(window.near.core, window.near, window.lines)
        self.names = [name for name in NAMES if getattr(self._sds, name) > 0.0]

    def unknown(self, moved: dict[str, float]) -> CoreUnknowns:
        """Return the unknowns moved by so many standard deviations."""
        return CoreUnknowns(**{name: getattr(self._sds, name) * by for name, by in moved.items()})

    def at(self, memory: MemoryCosts, moved: dict[str, float], step: float) -> Array:
        """Return the logarithmic change of time in `memory` per standard deviation, by unknown."""
        window = self._window
        here_ns = window.per_miss_ns(memory, self.unknown(moved))
        steps = [{**moved, name: moved.get(name, 0.0) + step} for name in self.names]
        times = [window.per_miss_ns(memory, self.unknown(each)) for each in steps]
        return np.array([log(time / here_ns) / step for time in times])

    def spreads(
        self, near_slopes: Array, moved: dict[str, float], step: float
    ) -> tuple[float, float]:
        """Return the deviations of far time that near time leaves, at both reference memories."""
        near = self._window.near
        slow = scaled_memory(near, latency=REFERENCE)
        slow = replace(slow, core_stream_ns=near.core_stream_ns * sqrt(REFERENCE))
        unit = near_slopes / hypot(*near_slopes.tolist(), TOLERANCE)

        def left(far: MemoryCosts) -> float:
            far_slopes = self.at(far, moved, step)
            # Near time determines the unknowns in the direction of its slopes; the rest varies.
            variance = float(far_slopes @ far_slopes) - float(far_slopes @ unit) ** 2
            return sqrt(max(variance, 0.0))

        return left(slow), left(scaled_memory(near, bandwidth=1.0 / REFERENCE))


def _solve(
    window: WindowSimulation,
    slopes: _Slopes,
    near_slopes: Array,
    measured_ns: float,
    plain_ns: float,
) -> tuple[dict[str, float], float]:
    """Return the standard deviations that each unknown is moved by, and the time per miss, ns."""
    direction = near_slopes / (float(near_slopes @ near_slopes) + TOLERANCE**2)
    best = (dict.fromkeys(slopes.names, 0.0), plain_ns)
    scale, per_scale, at = 0.0, 1.0, plain_ns
    for _ in range(STEPS):
        if abs(log(measured_ns / at)) < TOLERANCE / 4.0:
            break
        scale += log(measured_ns / at) / per_scale
        values = np.clip(direction * scale, -MAX_DEVIATIONS, MAX_DEVIATIONS)
        moved = dict(zip(slopes.names, values.tolist(), strict=True))
        at = window.per_miss_ns(window.near, slopes.unknown(moved))
        if abs(log(measured_ns / at)) < abs(log(measured_ns / best[1])):
            best = (moved, at)
        per_scale = min(max(log(at / plain_ns) / scale, 0.25), 4.0) if scale else 1.0
    return best


def _last_level_hits(phase: PhaseTraffic, private: float) -> float:
    """Return the hits of the shared last level per miss: accesses that private caches miss."""
    if phase.curve is None:
        return float("inf")
    beyond = phase.curve.at(phase.curve.here_bytes)
    outside = phase.curve.at(min(private, phase.curve.here_bytes))
    return max(0.0, outside / beyond - 1.0) if beyond > 0.0 else float("inf")

"""A simulated out-of-order window over the profile's bursts, fitted to near time.

Bursts contain the instructions executed, their dependences and the branches that depend on loads;
the run that recorded them counts how often each instruction misses. A window of instructions moves
over them: buffers for misses whose latency grows with those in flight, as the chains curve says; a
bus for lines and write-backs; a store buffer; a prefetcher where the near curves show one.

The core's figures leave open how much work lies between misses, how far they overlap, what a
misprediction costs. The most plausible values with which the window takes the measured near time
are solved, and with them it is run on the far memory. What remains of a too long near time scales
the added time down; what remains of a too short one is work that memory does not change.

Where part of the data is far, the added time is in proportion to the cost of the moved lines.
"""

from __future__ import annotations

import numpy as np

from nearfar.documents.prediction import Bound
from nearfar.predict.core_time import INDEPENDENT_PRIOR
from nearfar.predict.core_window import HALF_RANGE, CoreUnknowns
from nearfar.predict.memory import MAX_CHAINS, MemoryCosts
from nearfar.predict.model import MODELS, Model, ModelLacksError
from nearfar.predict.shared_cache import lines_far
from nearfar.predict.traffic import COLUMNS, Array, PhaseTraffic, column_costs, misses, write_backs
from nearfar.predict.window_fit import Fit, WindowSimulation, fit_window, simulation

MIN_MISSES = 100
"""Minimum of misses in all bursts together: fewer show little of how misses overlap."""

MIN_MOVED = 0.5
"""Standard deviations from which a remark names an unknown."""

WORDS = {
    "window": "instructions in flight",
    "work": "work per instruction",
    "arithmetic": "latency of arithmetic",
    "mispredicted": "cost of mispredictions",
    "caches": "latency of caches",
    "stores": "stores in flight",
    "clock": "clock",
    "latency": "latency of its misses",
    "lines": "bandwidth of its lines",
    "stream": "speed of its streams",
}
"""Names of unknowns in remarks."""


@MODELS.register("window")
class WindowModel(Model):
    """Near time plus what far memory adds in a simulated window that takes near time."""

    name = "window"
    brackets = ("inversion", "chains", "traffic")

    def prepare(self) -> None:
        """Compute what is the same for all placements."""
        phase = self.phase
        require_bursts(phase)
        self.fit: Fit | None = None
        self.far_ns = self.near_time_ns
        if float(misses(phase.total)) == 0.0 or self.near_time_ns <= 0.0:
            return
        self.fit = fit_window(phase, self.near)
        if not self.far.is_near:
            slowdown = self._far_per_miss_ns(self.fit) / self.fit.measured_ns
            self.far_ns = self.near_time_ns * slowdown

    def times_ns(self, moved: Array) -> Array:
        """Return near time plus the moved lines' part of what far memory adds, ns."""
        share = moved_share(moved, self.phase, self.near, self.far)
        return np.asarray(self.near_time_ns + share * (self.far_ns - self.near_time_ns))

    def bound(self) -> Bound:
        """Return bandwidth where lines alone take nearly all of the time, else latency."""
        line_ns = float(
            misses(self.total) * self.far.read_ns[1]
            + write_backs(self.total) * self.far.write_ns[1]
        )
        return "bandwidth" if line_ns * self.phase.concurrency > 0.9 * self.far_ns else "latency"

    def effective_parallelism(self) -> float | None:
        """Return idle latency over the time of a miss in the window: a lower bound."""
        return None if self.fit is None else max(1.0, self.near.latency_ns / self.fit.near_ns)

    def remarks(self) -> list[str]:
        """Return how the window was fitted."""
        return [] if self.fit is None or self.far.is_near else [fitted(self.phase.name, self.fit)]

    def fitted_weight(self) -> float:
        """Return how plausible the window is."""
        return 0.0 if self.fit is None else self.fit.weight

    def times_to_spread_ns(self) -> list[float]:
        """Return the ends of a 90 % interval of the far times of all fits."""
        return [self.far_ns * end for end in (np.exp(-self._log_end()), np.exp(self._log_end()))]

    def _log_end(self) -> float:
        if self.fit is None or self.far.is_near:
            return 0.0
        return HALF_RANGE * self.fit.spread(self.near, self.far)

    def _far_per_miss_ns(self, fit: Fit) -> float:
        window = simulation(self.phase, self.near)
        shared_ns = self._shared_ns(window, fit.unknown)
        simulated_ns = window.per_miss_ns(self.far, fit.unknown, shared_ns)
        # Bursts are short, so the simulated far time may be too short: it is at least the near time
        # times the smallest ratio of line times.
        least_ns = fit.near_ns * min(_ratios(self.near, self.far))
        return fit.far_ns(max(simulated_ns, least_ns))

    def _shared_ns(self, window: WindowSimulation, unknown: CoreUnknowns) -> float:
        more = lines_far(self.phase, self.near, self.far, self.perturbation.taken) - 1.0
        if more <= 0.0 or not 0.0 < window.last_level < float("inf"):
            return 0.0
        latency_ns = self.far.latency_ns * float(np.exp(unknown.latency))
        return min(more / window.last_level, 1.0) * latency_ns


def require_bursts(phase: PhaseTraffic) -> None:
    """Raise ModelLacksError for a phase without bursts, or with too few misses in them."""
    if phase.bursts is None:
        raise ModelLacksError(
            f"window needs bursts, and phase {phase.name!r} has none: profile with --bursts"
        )
    counted = phase.bursts.misses
    if float(misses(phase.total)) > 0.0 and counted < MIN_MISSES:
        raise ModelLacksError(
            f"window needs {MIN_MISSES} misses in the bursts of phase {phase.name!r}: there "
            f"are {counted}: profile a longer run"
        )


def fitted(phase: str, fit: Fit) -> str:
    """Return in a sentence how the window was fitted, and how plausible that is."""
    moved = [f"{WORDS[name]} {by:+.1f}" for name, by in fit.moved.items() if abs(by) >= MIN_MOVED]
    changes = f" by {', '.join(moved)} standard deviations" if moved else ""
    return (
        f"phase {phase!r}: the simulated window over the bursts takes "
        f"{fit.plain_ns / fit.measured_ns:.2f} times near time with the core's figures, and "
        f"{fit.near_ns / fit.measured_ns:.2f} times after it was fitted{changes}; its weight is "
        f"{fit.weight:.0%}, the inversion's {1.0 - fit.weight:.0%}"
    )


def moved_share(moved: Array, phase: PhaseTraffic, near: MemoryCosts, far: MemoryCosts) -> Array:
    """Return the moved lines' share of the time added by far memory, 0..1, by costs of lines."""
    chase, independent, store = (
        far.cost_ns(chains) - near.cost_ns(chains)
        for chains in (1.0, INDEPENDENT_PRIOR, float(MAX_CHAINS))
    )
    stream = far.core_stream_ns - near.core_stream_ns
    written = (
        far_ns - near_ns for far_ns, near_ns in zip(far.write_ns, near.write_ns, strict=True)
    )
    weights = np.maximum(column_costs(chase, independent, stream, *written, store=store), 0.0)
    total = float(phase.total @ weights)
    if total <= 0.0:
        weights = np.ones(COLUMNS)
        total = float(phase.total.sum())
    return np.asarray(moved @ weights / total if total > 0.0 else np.zeros(moved.shape[:-1]))


def _ratios(near: MemoryCosts, far: MemoryCosts) -> list[float]:
    """Return far over near times of each kind of line; the minimum limits any speed-up."""
    far_ns, near_ns = (
        [
            *(memory.cost_ns(k) for k in (1.0, INDEPENDENT_PRIOR, float(MAX_CHAINS))),
            memory.core_stream_ns,
            memory.copied_ns or memory.core_stream_ns,
            *memory.read_ns,
            *memory.write_ns,
        ]
        for memory in (far, near)
    )
    return [slow / fast for slow, fast in zip(far_ns, near_ns, strict=True)]

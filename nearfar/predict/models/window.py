"""A simulated out-of-order window over the profile's bursts, in near and in far memory.

Bursts contain the instructions executed, their dependences and the branches that depend on loads;
the run that recorded them counts how often each instruction misses. A window of instructions moves
over them twice, with the near and with the far memory: latencies by the misses in flight from the
chains curve, the bandwidth of lines and write-backs, a store buffer, and a prefetcher where the
near curves show one. The time that far memory adds in the window is added to near time, for as many
misses as the profile counts. Where the window takes longer than the measured near time, it waits
more than the program does, and the added time is scaled down in proportion.

Where part of the data is far, the added time is in proportion to the cost of the moved lines.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from nearfar._window import run
from nearfar.documents.prediction import Bound
from nearfar.predict.core_time import INDEPENDENT_PRIOR
from nearfar.predict.core_window import (
    PRIVATE_BYTES,
    SMALL_WINDOW,
    WINDOW,
    core,
    cycle_ns,
    medium,
)
from nearfar.predict.memory import MAX_CHAINS, MemoryCosts
from nearfar.predict.model import MODELS, Model, ModelLacksError
from nearfar.predict.shared_cache import lines_far
from nearfar.predict.traffic import (
    COLUMNS,
    Array,
    PhaseTraffic,
    RecordedBursts,
    column_costs,
    misses,
    streamed,
    write_backs,
)

MIN_MISSES = 100
"""Minimum of misses in all bursts together: fewer show little of how misses overlap."""

TRUSTED = (0.4, 2.5)
"""Range of simulated over measured near time in which the simulated overlap is the program's.
Inside and outside of 0.7 to 1.4, in ten sessions of validation, its mean with the inversion had a
smaller error than the inversion; chosen with these in view."""

BISECTION_STEPS = 6
"""Halvings for the bandwidth that near time shows: to 2 % of it."""


@dataclass(frozen=True)
class _Times:
    """Time per miss, ns."""

    near: float
    far: float


@dataclass(frozen=True)
class _Settings:
    """Settings of a simulation besides the memory."""

    sequential: float
    """Share of lines read in sequence."""
    written: float
    """Lines written back per line read."""
    at_once: float
    """Lines in flight of streams that advance together, over those of one stream."""
    streams: float
    """Number of streams that advance together."""
    last_level: float
    """Accesses that the shared last level answers, over those that miss."""
    window: int
    hits: float
    """Factor on the latencies of caches."""
    shared_ns: float = 0.0
    """Additional wait of an access that the last level answers, because a contending core took part
    of that cache."""


@MODELS.register("window")
class WindowModel(Model):
    """Near time plus what far memory adds in a simulated window."""

    name = "window"
    brackets = ("inversion", "chains", "traffic")

    def prepare(self) -> None:
        """Compute what is the same for all placements."""
        phase = self.phase
        if phase.bursts is None:
            raise ModelLacksError(
                f"window needs bursts, and phase {phase.name!r} has none: profile with --bursts"
            )
        lines = float(misses(phase.total))
        counted = int(phase.bursts.trace.missing.sum())
        if lines > 0.0 and counted < MIN_MISSES:
            raise ModelLacksError(
                f"window needs {MIN_MISSES} misses in the bursts of phase {phase.name!r}: there "
                f"are {counted}: profile a longer run"
            )
        self._lines = float(misses(self.total))
        window = SMALL_WINDOW if self.perturbation.smaller_window else WINDOW
        self._times = _Times(0.0, 0.0)
        if lines > 0.0:
            settings = _Settings(
                sequential=streamed(phase.total) / lines,
                written=float(write_backs(phase.total)) / lines,
                at_once=phase.streams**self.perturbation.streams_share,
                streams=phase.streams,
                last_level=_last_level(phase),
                window=window,
                hits=self.perturbation.hits,
            )
            self._times = self._simulate(phase.bursts, settings)

    def times_ns(self, moved: Array) -> Array:
        """Return near time plus the moved lines' part of what far memory adds, ns."""
        weights = self._weights()
        total = float(self.phase.total @ weights)
        share = moved @ weights / total if total > 0.0 else np.zeros(moved.shape[:-1])
        return np.asarray(self.near_time_ns + share * self._added_ns())

    def bound(self) -> Bound:
        """Return bandwidth where lines alone take nearly all of the time, else latency."""
        line_ns = float(
            misses(self.total) * self.far.read_ns[1]
            + write_backs(self.total) * self.far.write_ns[1]
        )
        time_ns = self.near_time_ns + self._added_ns()
        return "bandwidth" if line_ns * self.phase.concurrency > 0.9 * time_ns else "latency"

    def effective_parallelism(self) -> float | None:
        """Return idle latency over the time of a miss in the window: a lower bound."""
        return max(1.0, self.near.latency_ns / self._times.near) if self._times.near else None

    def remarks(self) -> list[str]:
        """Return a warning where the simulated time is not this program's."""
        ratio = self.simulated_over_near
        if ratio is None or TRUSTED[0] <= ratio <= TRUSTED[1]:
            return []
        return [
            f"phase {self.phase.name!r}: the simulated window takes {ratio:.2g} times the measured "
            "near time, so its overlap differs from the program's, and its interval is wider"
        ]

    @property
    def simulated_over_near(self) -> float | None:
        """Simulated over measured near time; None where there is nothing to simulate."""
        if self.near_time_ns <= 0.0 or self._lines == 0.0:
            return None
        return self._times.near * self._lines / self.near_time_ns

    def _simulate(self, bursts: RecordedBursts, settings: _Settings) -> _Times:
        """Simulate both memories, with the bandwidth that near time shows if that is higher.

        A bandwidth may have been measured with fewer lines in flight than the program has. The far
        figure is off by as much only as far as the memories are alike: the slower the far memory,
        the less its limit depends on what limited near memory when it was measured.
        """
        threads = self.phase.concurrency
        measured_ns = self.near_time_ns / self._lines
        factor = 1.0
        near_ns = _per_miss_ns(bursts, self.near, self.near, settings, threads)
        unbound_ns = _per_miss_ns(bursts, self.near, self.near, settings, 0.0)
        if near_ns > measured_ns > unbound_ns:
            low, high = 0.0, 1.0
            for _ in range(BISECTION_STEPS):
                factor = (low + high) / 2
                near_ns = _per_miss_ns(bursts, self.near, self.near, settings, threads * factor)
                low, high = (factor, high) if near_ns < measured_ns else (low, factor)
        slower = max(1.0, self.far.read_ns[1] / self.near.read_ns[1])
        lines = threads * factor ** (1.0 / slower)
        far = replace(settings, shared_ns=self._shared_ns(settings))
        far_ns = _per_miss_ns(bursts, self.far, self.near, far, lines)
        # Bursts are short: the more lines are in flight, the more arrive before a burst ends.
        return _Times(near_ns, max(far_ns, near_ns * min(_ratios(self.near, self.far))))

    def _shared_ns(self, settings: _Settings) -> float:
        more = lines_far(self.phase, self.near, self.far) - 1.0
        if more <= 0.0 or not 0.0 < settings.last_level < float("inf"):
            return 0.0
        return min(more / settings.last_level, 1.0) * self.far.latency_ns

    def _added_ns(self) -> float:
        if self.far.is_near:
            return 0.0
        added = (self._times.far - self._times.near) * self._lines
        ratio = self.simulated_over_near
        if ratio is None:
            return 0.0
        # The perturbation takes the alternative: added unscaled, or in proportion.
        proportional = (ratio > 1.0) != (self.perturbation.parallelism == "classes")
        return added / ratio if proportional else added

    def _weights(self) -> Array:
        """Return the time that a moved line of each kind adds, ns; only proportions matter."""
        chase, independent, store = (
            self.far.cost_ns(chains) - self.near.cost_ns(chains)
            for chains in (1.0, INDEPENDENT_PRIOR, float(MAX_CHAINS))
        )
        stream = self.far.core_stream_ns - self.near.core_stream_ns
        written = (
            far_ns - near_ns
            for far_ns, near_ns in zip(self.far.write_ns, self.near.write_ns, strict=True)
        )
        weights = column_costs(chase, independent, stream, *written, store=store)
        weights = np.maximum(weights, 0.0)
        return weights if float(self.phase.total @ weights) > 0.0 else np.ones(COLUMNS)


def _ratios(near: MemoryCosts, far: MemoryCosts) -> list[float]:
    """Return far over near times of all kinds of lines; the minimum bounds any speed-up."""
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


def _last_level(phase: PhaseTraffic) -> float:
    """Return hits of the shared last level over misses: lines outside the private caches."""
    if phase.curve is None:
        return float("inf")
    beyond = phase.curve.at(phase.curve.here_bytes)
    private = phase.curve.at(min(PRIVATE_BYTES, phase.curve.here_bytes))
    return max(0.0, private / beyond - 1.0) if beyond > 0.0 else float("inf")


@lru_cache(maxsize=4096)
def _per_miss_ns(
    bursts: RecordedBursts,
    memory: MemoryCosts,
    near: MemoryCosts,
    settings: _Settings,
    lines: float,
) -> float:
    """Return the window's time per miss with everything in `memory`, ns."""
    trace = bursts.trace
    everywhere = medium(
        memory,
        near,
        sequential=settings.sequential,
        write_backs=settings.written,
        lines=lines,
        at_once=settings.at_once,
        streams=settings.streams,
    )
    hits = min(settings.last_level * float(trace.missing.sum()), float(len(trace.hits)))
    times = run(
        trace.native,
        trace.served(hits),
        core(settings.window, settings.hits, settings.shared_ns / cycle_ns(near)),
        everywhere,
        everywhere,
    )
    return float(times.cycles) * cycle_ns(near) / max(1, times.misses)

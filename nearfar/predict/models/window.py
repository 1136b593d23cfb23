"""A fast out-of-order window over the profile's bursts, in near and in far memory.

Bursts say what was executed, what depends on what and which branches hang on what was loaded; the
run that recorded them says how often each instruction misses. A window of instructions goes over
them twice: with the near memory's latencies and with the far one's, each as its chains curve gives
them for so many misses in flight, with the bandwidth of lines and write-backs, a store buffer, and
a prefetcher where the near curves show one. What the far memory adds in the window is added to near
time, for as many misses as the profile counts. Where the window takes longer than near time was
measured to be, it waits more than the program does: then the added time is in proportion.

Where part of the data is far, the added time is in proportion to what the moved lines cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from nearfar.documents.prediction import Bound
from nearfar.predict.core_window import (
    PRIVATE_BYTES,
    SMALLEST_WINDOW,
    WINDOW,
    core,
    cycle_ns,
    medium,
)
from nearfar.predict.memory import MAX_CHAINS, MemoryCosts
from nearfar.predict.model import MODELS, NO_PERTURBATION, Model, ModelLacksError, Perturbation
from nearfar.predict.overlap import INDEPENDENT_PRIOR
from nearfar.predict.recorded import RecordedBursts
from nearfar.predict.shared_cache import lines_far
from nearfar.predict.traffic import (
    CHASE,
    COLUMNS,
    INDEPENDENT,
    STORE,
    STORE_STREAM,
    STREAM,
    WRITE_BACK,
    WRITE_BACK_STREAM,
    Array,
    PhaseTraffic,
    misses,
    write_backs,
)

FEWEST_MISSES = 100
"""In all bursts together: fewer say little of how misses overlap."""

TRUSTED = (0.4, 2.5)
"""Simulated over measured near time between which the simulated overlap is the program's. Within
0.7 to 1.4 as beyond, in ten sessions of validation, its mean with the inversion erred by less than
the inversion; chosen in sight of these."""


STEPS = 6
"""Halvings for the bandwidth that near time shows: to 2 % of it."""


@dataclass(frozen=True)
class _Times:
    """ns per miss."""

    near: float
    far: float


@dataclass(frozen=True)
class _How:
    """What is simulated beside the memory."""

    sequential: float
    """Share of lines read in sequence."""
    written: float
    """Lines written back for each that is read."""
    at_once: float
    """Lines in flight of streams that advance together, over those of one alone."""
    streams: float
    """That advance together."""
    last_level: float
    """Accesses that the shared last level answers, over those that miss."""
    window: int
    hits: float
    """On the latencies of caches."""
    shared_ns: float = 0.0
    """What an access that the last level answers waits longer, because a contending core took a
    part of that cache."""


@MODELS.register("window")
class WindowModel(Model):
    """Near time, and what far memory adds in a simulated window."""

    name = "window"
    brackets = ("inversion", "chains", "traffic")

    def __init__(
        self,
        phase: PhaseTraffic,
        near: MemoryCosts,
        far: MemoryCosts,
        doubt: Perturbation = NO_PERTURBATION,
    ) -> None:
        super().__init__(phase, near, far, doubt)
        if phase.bursts is None:
            raise ModelLacksError(
                f"window: there are no bursts of phase {phase.name!r} (`nearfar profile --bursts`)"
            )
        lines = float(misses(phase.total))
        counted = int(phase.bursts.trace.missing.sum())
        if lines > 0.0 and counted < FEWEST_MISSES:
            raise ModelLacksError(
                f"window: the bursts of phase {phase.name!r} have {counted} misses, which is too "
                f"few (of {FEWEST_MISSES})"
            )
        self._lines = float(misses(self.total))
        window = SMALLEST_WINDOW if doubt.smaller_window else WINDOW
        self._times = _Times(0.0, 0.0)
        if lines > 0.0:
            sequential = float(phase.total[STREAM] + phase.total[STORE_STREAM]) / lines
            written = float(write_backs(phase.total)) / lines
            how = _How(
                sequential,
                written,
                # Several streams share what has lines in flight for one, or have more; see `Doubt`.
                phase.streams**doubt.streams_share,
                phase.streams,
                _last_level(phase),
                window,
                doubt.hits,
            )
            self._times = self._simulate(phase.bursts, how)

    def times_ns(self, moved: Array) -> Array:
        """Return near time and the moved lines' part of what far memory adds, ns."""
        weights = self._weights()
        whole = float(self.phase.total @ weights)
        share = moved @ weights / whole if whole > 0.0 else np.zeros(moved.shape[:-1])
        return np.asarray(self.near_time_ns + share * self._added_ns())

    def bound(self) -> Bound:
        """Bandwidth, where lines alone take nearly all of the time."""
        line_ns = float(
            misses(self.total) * self.far.read_ns[1]
            + write_backs(self.total) * self.far.write_ns[1]
        )
        time_ns = self.near_time_ns + self._added_ns()
        return "bandwidth" if line_ns * self.phase.concurrency > 0.9 * time_ns else "latency"

    def effective_parallelism(self) -> float | None:
        """Return idle latency over what a miss takes in the window: a lower bound."""
        return max(1.0, self.near.latency_ns / self._times.near) if self._times.near else None

    def remarks(self) -> list[str]:
        """Say where the window is not this program's."""
        ratio = self.simulated_over_near
        if ratio is None or TRUSTED[0] <= ratio <= TRUSTED[1]:
            return []
        return [
            f"phase {self.phase.name!r}: the simulated window takes {ratio:.2g} times the measured "
            "near time, so its overlap is not quite the program's, and its interval is wider"
        ]

    @property
    def simulated_over_near(self) -> float | None:
        """Return simulated over measured near time; None where there is nothing to simulate."""
        if self.near_time_ns <= 0.0 or self._lines == 0.0:
            return None
        return self._times.near * self._lines / self.near_time_ns

    def _simulate(self, recorded: RecordedBursts, how: _How) -> _Times:
        """Simulate both memories; where near time beats near bandwidth, with as much as it shows.

        A bandwidth may have been measured of fewer lines in flight than the program has. The far
        figure is off alike only as far as both memories are: the slower the far memory, the less
        its limit has to do with what held near memory back when it was measured.
        """
        threads = self.phase.concurrency
        measured_ns = self.near_time_ns / self._lines
        factor = 1.0
        near_ns = _per_miss_ns(recorded, self.near, self.near, how, threads)
        unbound_ns = _per_miss_ns(recorded, self.near, self.near, how, 0.0)
        if near_ns > measured_ns > unbound_ns:
            low, high = 0.0, 1.0
            for _ in range(STEPS):
                factor = (low + high) / 2
                near_ns = _per_miss_ns(recorded, self.near, self.near, how, threads * factor)
                low, high = (factor, high) if near_ns < measured_ns else (low, factor)
        slower = max(1.0, self.far.read_ns[1] / self.near.read_ns[1])
        lines = threads * factor ** (1.0 / slower)
        far = replace(how, shared_ns=self._shared_ns(how))
        far_ns = _per_miss_ns(recorded, self.far, self.near, far, lines)
        # Bursts are short: the more lines are on their way, the more are there before one ends.
        return _Times(near_ns, max(far_ns, near_ns * min(_ratios(self.near, self.far))))

    def _shared_ns(self, how: _How) -> float:
        more = lines_far(self.phase, self.near, self.far) - 1.0
        if more <= 0.0 or not 0.0 < how.last_level < float("inf"):
            return 0.0
        return min(more / how.last_level, 1.0) * self.far.latency_ns

    def _added_ns(self) -> float:
        if self.far.is_near:
            return 0.0
        added = (self._times.far - self._times.near) * self._lines
        ratio = self.simulated_over_near
        if ratio is None:
            return 0.0
        # The other way to take it, as a doubt: added as it is, or in proportion.
        proportional = (ratio > 1.0) != (self.doubt.parallelism == "classes")
        return added / ratio if proportional else added

    def _weights(self) -> Array:
        """Return what a moved line of each kind adds, ns, of which only proportions matter."""
        weights = np.zeros(COLUMNS)
        for column, chains in (
            (CHASE, 1.0),
            (INDEPENDENT, INDEPENDENT_PRIOR),
            (STORE, float(MAX_CHAINS)),
        ):
            weights[column] = self.far.cost_ns(chains) - self.near.cost_ns(chains)
        stream = self.far.core_stream_ns - self.near.core_stream_ns
        weights[STREAM] = weights[STORE_STREAM] = stream
        for column, kind in ((WRITE_BACK, 0), (WRITE_BACK_STREAM, 1)):
            weights[column] = self.far.write_ns[kind] - self.near.write_ns[kind]
        weights = np.maximum(weights, 0.0)
        return weights if float(self.phase.total @ weights) > 0.0 else np.ones(COLUMNS)


def _ratios(near: MemoryCosts, far: MemoryCosts) -> list[float]:
    """Return far over near times of all kinds of lines; nothing is quicker there than the least."""
    there, here = (
        [
            *(memory.cost_ns(k) for k in (1.0, INDEPENDENT_PRIOR, float(MAX_CHAINS))),
            memory.core_stream_ns,
            memory.copied_ns or memory.core_stream_ns,
            *memory.read_ns,
            *memory.write_ns,
        ]
        for memory in (far, near)
    )
    return [one / other for one, other in zip(there, here, strict=True)]


def _last_level(phase: PhaseTraffic) -> float:
    """Return hits of the shared last level over misses: what the core's own caches do not hold."""
    if phase.curve is None:
        return float("inf")
    beyond = phase.curve.at(phase.curve.here_bytes)
    private = phase.curve.at(min(PRIVATE_BYTES, phase.curve.here_bytes))
    return max(0.0, private / beyond - 1.0) if beyond > 0.0 else float("inf")


@lru_cache(maxsize=4096)
def _per_miss_ns(
    recorded: RecordedBursts, memory: MemoryCosts, near: MemoryCosts, how: _How, lines: float
) -> float:
    """Return what the window takes over its misses with everything in `memory`, ns."""
    from nearfar._window import run

    trace = recorded.trace
    there = medium(
        memory,
        near,
        sequential=how.sequential,
        write_backs=how.written,
        lines=lines,
        at_once=how.at_once,
        streams=how.streams,
    )
    hits = min(how.last_level * float(trace.missing.sum()), float(len(trace.hits)))
    found = run(
        trace.native,
        trace.served(hits),
        core(how.window, how.hits, how.shared_ns / cycle_ns(near)),
        there,
        there,
    )
    return float(found.cycles) * cycle_ns(near) / max(1, found.misses)

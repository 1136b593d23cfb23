"""Near time, inverted through the near memory's chains curve, says how misses overlap.

A chains curve gives what a miss costs while k chains of dependent loads go on at once. Near time
per miss, read backwards through the near curve, gives the k at which this program runs; the far
curve at that k gives what a miss will cost. Beside it:

- Loads of a chase are serial and others are not: one factor on both priors is inverted, so that
  a chase stays more sensitive than a gather as far as near time allows.
- Cache hits between misses take time that does not grow; the inversion is of what they leave.
- Stores wait in the store buffer, so they cost only what line-fill buffers and bandwidth cost.
- Streams cost what one core reads in sequence; several at once have more lines in flight than
  one, but share the core's buffers. Where the core has no prefetcher, streams are independent
  misses that queue for no row of memory: latency over parallelism.
- Bandwidth is counted by the line, write-backs included. Memory time comes near the bandwidth
  bound gradually, and never goes below it.
- Near time that memory does not explain stays as it is.
- Where a loaded-latency curve knows more than the chains curve (other threads, derived chains),
  latency is that at the bandwidth drawn in the predicted time: a fixed point.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from nearfar.documents.prediction import Bound
from nearfar.predict.explain import drawn_gb_per_s, explain, load_curve
from nearfar.predict.memory import LoadedFactor, Memory
from nearfar.predict.model import MODELS, NO_DOUBT, Doubt, Model
from nearfar.predict.overlap import Part, core_time_ns, part, streams_of
from nearfar.predict.traffic import CHASE, INDEPENDENT, STREAM, Array, PhaseTraffic

LOAD_STEPS = 12
"""Halvings for the fixed point: to 1/4000 of the range of loaded latency, below any figure's
error."""

AT_ONCE = 6
"""Halvings done at once by trying all points that they could reach: 12 are two looks."""
GRID = np.arange(1, 2**AT_ONCE) / 2**AT_ONCE


@MODELS.register("inversion")
class Inversion(Model):
    """The default model."""

    name = "inversion"

    def __init__(
        self, phase: PhaseTraffic, near: Memory, far: Memory, doubt: Doubt = NO_DOUBT
    ) -> None:
        super().__init__(phase, near, far, doubt)
        self._streams = streams_of(phase, self.near, doubt.streams_share)
        self._why = explain(
            phase,
            self.near,
            near_time=doubt.near_time,
            lines=doubt.lines,
            hits=doubt.hits,
            by_classes=doubt.parallelism == "classes",
            near_curves_hold=doubt.near_curves_hold,
            streams_share=doubt.streams_share,
        )
        self._far_load = load_curve(phase, self.far)

    def times_ns(self, moved: Array) -> Array:
        """Return time from misses, streams and bandwidth of both memories, ns."""
        # Data moved within one memory has not moved: its bandwidth is not there twice.
        moved = moved * (0.0 if self.far.is_near else self.doubt.lines)
        parts = self._parts(moved)
        if self._far_load is None:
            return self._time(parts, 1.0)
        return self._fixed_point(moved, parts, self._far_load)

    def elsewhere_ns(self, lines: Array, frequency_ratio: float) -> float:
        """Return the time with `lines` (COLUMNS,) in the far memory alone, at another clock, ns.

        For another machine: its cache makes other lines, its near memory is `far` here.
        """
        why = self._why
        there = self._part(lines, self.far)
        time_ns = core_time_ns(why.other_ns / frequency_ratio, [there], [1.0])
        return float(why.scale * time_ns)

    def bound(self) -> Bound:
        """Compare what memory does not explain, bandwidth alone, and all of memory."""
        far = self._part(self.total, self.far)
        memory_ns = float(core_time_ns(0.0, [far], [1.0]))
        if self._why.other_ns >= memory_ns * self._why.scale:
            return "compute"
        stream_ns = float(self.total[STREAM]) * self.far.core_stream_ns
        # Where bandwidth alone takes 0.9 of memory time, latency could fall to nothing and save
        # little. A stream of one core is bound by what one core draws: where streams take more than
        # half of waiting, that is the bound.
        if float(far.all_lines) > 0.9 * memory_ns or stream_ns > 0.5 * float(far.latency):
            return "bandwidth"
        return "latency"

    def extrapolated(self) -> float:
        """Return how far the drawn bandwidth lies beyond the far curve's end, relative to it."""
        if self._far_load is None or self.far.is_near:
            return 0.0
        time_ns = float(self.times_ns(self.phase.total))
        drawn = float(drawn_gb_per_s(self.phase, self.far, self.total, time_ns))
        return max(0.0, drawn / self._far_load.end_gb_per_s - 1.0)

    def effective_parallelism(self) -> float | None:
        """Return the loads' mean parallelism, a lower bound where compute overlaps."""
        chase, independent = float(self.total[CHASE]), float(self.total[INDEPENDENT])
        if chase + independent == 0.0:
            return None
        found = self._why.overlap
        overlapped = chase * self.near.cost_ns(found.chase)
        overlapped += independent * self.near.cost_ns(found.independent)
        return (chase + independent) * self.near.cost_ns(1.0) / overlapped

    def _parts(self, moved: Array) -> list[Part]:
        rest = np.maximum(self.total - moved, 0.0)
        return [self._part(rest, self.near), self._part(moved, self.far)]

    def _part(self, lines: Array, memory: Memory) -> Part:
        return part(lines, memory, self._why.overlap, self._streams, self.phase.concurrency)

    def _time(self, parts: list[Part], far_factor: Array | float) -> Array:
        why = self._why
        time_ns = why.scale * core_time_ns(
            why.other_ns, parts, [why.near_factor, far_factor], self._given(parts)
        )
        return np.asarray(np.maximum(time_ns, self._least_ns(parts[1])))

    def _given(self, parts: list[Part]) -> Array | float:
        """Return what both memories give of their bandwidths where they share channels."""
        if self.far.together is None:
            return 1.0
        near_lines, far_lines = (one.lines for one in parts)
        return self.far.together.at(far_lines / np.maximum(near_lines + far_lines, 1e-9))

    def _least_ns(self, moved: Part) -> Array:
        """Return what far bandwidth allows at best.

        Where the program ran faster than near bandwidth allows, that figure is too low by
        `scale`. The far figure is off alike only as far as both memories are: the slower the
        far memory, the less its limit has to do with what held near memory back when measured.
        """
        return np.asarray(moved.all_lines * self._far_limit)

    @cached_property
    def _far_limit(self) -> float:
        near = self._part(self.total, self.near)
        far = self._part(self.total, self.far)
        slower = max(1.0, float(far.all_lines) / max(float(near.all_lines), 1e-9))
        return float(self._why.scale ** (1.0 / slower))

    def _fixed_point(self, moved: Array, parts: list[Part], load: LoadedFactor) -> Array:
        """Return the time at which latency and drawn bandwidth agree.

        More time draws less bandwidth, less bandwidth means less latency, less latency means
        less time: one crossing, found by halving.
        """
        if moved.ndim == 1:
            return self._one_fixed_point(moved, parts, load)
        shape = moved.shape[:-1]
        low, high = np.ones(shape), np.full(shape, load.greatest)
        drawn = drawn_gb_per_s(self.phase, self.far, moved, 1.0)
        for _ in range(LOAD_STEPS):
            middle = (low + high) / 2
            above = load.at(drawn / np.maximum(self._time(parts, middle), 1.0)) > middle
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return self._time(parts, (low + high) / 2)

    def _one_fixed_point(self, moved: Array, parts: list[Part], load: LoadedFactor) -> Array:
        """Do the same for one placement, many halvings at once: the same time, sooner."""
        low, width = 1.0, load.greatest - 1.0
        drawn = drawn_gb_per_s(self.phase, self.far, moved, 1.0)
        for _ in range(LOAD_STEPS // AT_ONCE):
            inner = low + width * GRID
            above = load.at(drawn / np.maximum(self._time(parts, inner), 1.0)) > inner
            low += width * np.count_nonzero(above) / 2**AT_ONCE
            width /= 2**AT_ONCE
        return self._time(parts, low + width / 2)

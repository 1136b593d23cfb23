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
- Beside a contending core the shared cache holds less, so that more lines miss far than near; they
  overlap at least as much as near time says that they did as hits.
- Where a loaded-latency curve knows more than the chains curve (other threads, derived chains),
  latency is that at the bandwidth drawn in the predicted time: a fixed point.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from nearfar.documents.prediction import Bound
from nearfar.predict.core_time import NO_TRAFFIC, Number, TrafficTime, arithmetic, core_time_ns
from nearfar.predict.explain import drawn_gb_per_s, explain, load_curve
from nearfar.predict.fixed_point import all_settled, settled
from nearfar.predict.memory import LoadedFactor, MemoryCosts
from nearfar.predict.model import MODELS, NO_PERTURBATION, Model, Perturbation
from nearfar.predict.overlap import stream_fetch, traffic_time
from nearfar.predict.shared_cache import waits_far
from nearfar.predict.traffic import CHASE, INDEPENDENT, STREAM, Array, PhaseTraffic

ENOUGH_CHAINS = 16.0
"""A chains curve to here is whole: cores of the last decade have 10 to 16 line-fill buffers."""

LEAST_BEYOND = 0.01
"""Below, a curve ends where the load does: figures are no surer than that."""


@MODELS.register("inversion")
class InversionModel(Model):
    """The default model."""

    name = "inversion"

    def __init__(
        self,
        phase: PhaseTraffic,
        near: MemoryCosts,
        far: MemoryCosts,
        doubt: Perturbation = NO_PERTURBATION,
    ) -> None:
        super().__init__(phase, near, far, doubt)
        self._streams = stream_fetch(phase, self.near, doubt.streams_share)
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
        self._waits_far = waits_far(phase, self.near, self.far)

    def times_ns(self, moved: Array) -> Array:
        """Return time from misses, streams and bandwidth of both memories, ns."""
        whole = moved is self.phase.total
        # Data moved within one memory has not moved: its bandwidth is not there twice.
        times = 0.0 if self.far.is_near else self.doubt.lines
        moved = moved if times == 1.0 else moved * times
        parts = self._parts(moved) if not whole or self.far.is_near else self._parts_all_far
        if self._far_load is None:
            return np.asarray(self._time(parts, 1.0))
        return np.asarray(self._fixed_point(moved, parts, self._far_load))

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
        far = self._all_far
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

    def beyond(self) -> dict[str, float]:
        """Compare drawn bandwidths and misses in flight with where the memories' curves end."""
        if self.far.is_near:
            return {}
        phase, found = self.phase, {}
        far_ns = float(self.times_ns(phase.total))
        for memory, curve, time_ns in (
            (self.near, load_curve(phase, self.near), self.near_time_ns),
            (self.far, self._far_load, far_ns),
        ):
            if curve is not None and time_ns > 0.0:
                drawn = float(drawn_gb_per_s(phase, memory, self.total, time_ns))
                what = (
                    f"draws {{:.0%}} more from {memory.device.name} than its loaded-latency curve"
                )
                found[what] = drawn / curve.end_gb_per_s - 1.0
        if float(self.total[INDEPENDENT] + self.total[CHASE]) > 0.0:
            in_flight = self._why.overlap.independent if self.total[INDEPENDENT] else 1.0
            for memory in (self.near, self.far):
                end = float(memory.chain_counts[-1])
                what = f"has {{:.0%}} more misses in flight in {memory.device.name} than its chains"
                found[f"{what} curve"] = in_flight / end - 1.0 if end < ENOUGH_CHAINS else 0.0
        return {what: share for what, share in found.items() if share > LEAST_BEYOND}

    def effective_parallelism(self) -> float | None:
        """Return the loads' mean parallelism, a lower bound where compute overlaps."""
        chase, independent = float(self.total[CHASE]), float(self.total[INDEPENDENT])
        if chase + independent == 0.0:
            return None
        found = self._why.overlap
        overlapped = chase * self.near.cost_ns(found.chase)
        overlapped += independent * self.near.cost_ns(found.independent)
        return (chase + independent) * self.near.cost_ns(1.0) / overlapped

    def _parts(self, moved: Array) -> list[TrafficTime]:
        if moved is self.total:
            return [NO_TRAFFIC, self._all_far]
        stays = self._all_near.without(self._part(moved, self.near))
        return [stays, self._part(moved * self._waits_far, self.far)]

    @cached_property
    def _parts_all_far(self) -> list[TrafficTime]:
        return self._parts(self.total)

    @cached_property
    def _all_near(self) -> TrafficTime:
        return self._part(self.total, self.near)

    @cached_property
    def _all_far(self) -> TrafficTime:
        return self._part(self.total * self._waits_far, self.far)

    def _part(self, lines: Array, memory: MemoryCosts) -> TrafficTime:
        return traffic_time(lines, memory, self._why.overlap, self._streams, self.phase.concurrency)

    def _time(self, parts: list[TrafficTime], far_factor: Number) -> Any:
        why = self._why
        time_ns = why.scale * core_time_ns(
            why.other_ns, parts, [why.near_factor, far_factor], self._given(parts)
        )
        least_ns = parts[1].all_lines * self._far_limit
        return arithmetic(time_ns).larger(time_ns, least_ns)

    def _given(self, parts: list[TrafficTime]) -> Number:
        """Return what both memories give of their bandwidths where they share channels."""
        if self.far.together is None:
            return 1.0
        near_lines, far_lines = (one.lines for one in parts)
        return self.far.together.at(far_lines / np.maximum(near_lines + far_lines, 1e-9))

    @cached_property
    def _far_limit(self) -> float:
        """Over far bandwidth time, what is the least time it allows.

        Where the program ran faster than near bandwidth allows, that figure is too low by
        `scale`. The far figure is off alike only as far as both memories are: the slower the
        far memory, the less its limit has to do with what held near memory back when measured.
        """
        if self._why.scale == 1.0:
            return 1.0
        near, far = self._all_near, self._all_far
        slower = max(1.0, float(far.all_lines) / max(float(near.all_lines), 1e-9))
        return float(self._why.scale ** (1.0 / slower))

    def _fixed_point(self, moved: Array, parts: list[TrafficTime], load: LoadedFactor) -> Any:
        """Return the time at which latency and drawn bandwidth agree."""
        drawn = drawn_gb_per_s(self.phase, self.far, moved, 1.0)
        if moved.ndim == 1:
            most = float(drawn)
            return self._time(
                parts,
                settled(
                    lambda factor: load.at_one(most / max(self._time(parts, factor), 1.0)),
                    load.greatest,
                ),
            )
        return self._time(
            parts,
            all_settled(
                lambda factors: load.at(drawn / np.maximum(self._time(parts, factors), 1.0)),
                load.greatest,
                moved.shape[:-1],
            ),
        )

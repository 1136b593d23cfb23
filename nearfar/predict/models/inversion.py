"""Inversion of near time through the near memory's chains curve: it shows how misses overlap.

A chains curve gives the cost of a miss while k chains of dependent loads run at once. Near time per
miss, inverted through the near curve, gives the k at which this program runs; the far curve at that
k gives the cost of a far miss. In addition:

- Loads of a chase are serial and others are not: one factor on both priors is inverted, so that a
  chase stays more sensitive than a gather as far as near time allows.
- Cache hits between misses take time that does not grow; the remainder of near time is inverted.
- Where the bus takes near time, which then fits any overlap, a chase is not inferred to overlap.
- No time is below that of a far memory's loads, streams, reads or writes alone. What write-backs
  lengthen near, as long as the bus is idle half of the time, they lengthen far too.
- For a memory without chains, several streams draw no more than one, unless near time shows it.
- Stores wait in the store buffer, so they only use line-fill buffers and bandwidth.
- Streams cost what one core reads in sequence; several at once have more lines in flight than one,
  but share the core's buffers. Where the core has no prefetcher, streams are independent misses
  that do not queue for a row of memory: latency over parallelism.
- Bandwidth is counted by the line, write-backs included. Memory time approaches the bandwidth bound
  gradually, and never goes below it.
- Near time that memory does not explain stays the same.
- Next to a contending core the shared cache holds less, so more lines miss far than near; they
  overlap at least as much as they did as hits.
- Where a loaded-latency curve includes more than the chains curve (other threads, derived chains),
  latency is that at the bandwidth drawn in the predicted time: a fixed point.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from msgspec.structs import replace

from nearfar.documents.prediction import Bound
from nearfar.predict.all_far import all_far_ns, far_limit
from nearfar.predict.core_time import (
    NO_TRAFFIC,
    Number,
    StreamFetch,
    TrafficTime,
    arithmetic,
    core_time_ns,
    traffic_time,
)
from nearfar.predict.explain import (
    MIN_LOADED_CONCURRENCY,
    drawn_gb_per_s,
    explain,
    load_curve,
)
from nearfar.predict.loaded_latency import LoadedFactor, settled_factor, settled_factors
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import MODELS, Model
from nearfar.predict.shared_cache import waits_far
from nearfar.predict.traffic import CHASE, INDEPENDENT, STREAM, Array

COMPLETE_CHAINS = 16.0
"""Chains at which a curve is complete: cores of the last decade have 10 to 16 line-fill buffers."""

MIN_BEYOND = 0.01
"""Minimum distance beyond a curve's end that counts: figures are no more precise than that."""


@MODELS.register("inversion")
class InversionModel(Model):
    """Near time explained by overlapping misses, with far costs for the moved ones."""

    name = "inversion"

    def prepare(self) -> None:
        """Compute what is the same for all placements."""
        self.explanation = explain(
            self.phase,
            self.near,
            near_time=self.perturbation.near_time,
            lines=self.perturbation.lines,
            hits=self.perturbation.hits,
            by_classes=self.perturbation.parallelism == "classes",
            near_curves_hold=self.perturbation.near_curves_hold,
            streams_share=self.perturbation.streams_share,
            # A published bandwidth of one core is all that it draws, in one stream or in several.
            streams_as_shown=not self.far.chains_measured,
        )
        self._far_load = load_curve(self.phase, self.far)
        phase, near, far, taken = self.phase, self.near, self.far, self.perturbation.taken
        self._waits_far = waits_far(phase, near, far, taken)
        self._moves_far = waits_far(phase, near, far, taken, walking=False)

    @classmethod
    def prepare_all_far(cls, models: Sequence[Self]) -> None:
        """Compute the times of everything far by all of `models` at once."""
        models = [model for model in models if not model.far.is_near]
        if models:
            for model, time_ns in zip(models, all_far_ns(models), strict=True):
                model._all_moved_ns = time_ns

    def times_ns(self, moved: Array) -> Array:
        """Return time from misses, streams and bandwidth of both memories, ns."""
        if moved is self.phase.total:
            return self._all_moved_ns
        moved = self._perturbed(moved)
        return self._split_time(moved, self._parts(moved))

    def bound(self) -> Bound:
        """Return what limits the phase with everything far: other work, bandwidth or latency."""
        far = self._all_far
        memory_ns = float(core_time_ns(0.0, [far], [1.0]))
        if self.explanation.other_ns >= memory_ns * self.explanation.scale:
            return "compute"
        stream_ns = float(self.total[STREAM]) * self.far.core_stream_ns
        # If bandwidth alone takes 0.9 of memory time, latency matters little. Streams are limited
        # by one core's bandwidth, so more than half of waiting in streams is a bandwidth bound too.
        if float(far.all_lines) > 0.9 * memory_ns or stream_ns > 0.5 * float(far.latency):
            return "bandwidth"
        return "latency"

    def beyond_curves(self) -> dict[str, float]:
        """Return where bandwidth or misses in flight exceed the ends of curves."""
        if self.far.is_near:
            return {}
        phase, beyond = self.phase, {}
        far_ns = float(self.times_ns(phase.total))
        for memory, curve, time_ns in (
            (self.near, load_curve(phase, self.near), self.near_time_ns),
            (self.far, self._far_load, far_ns),
        ):
            if curve is not None and time_ns > 0.0:
                drawn = float(drawn_gb_per_s(phase, memory, self.total, time_ns))
                predicate = (
                    f"draws {{:.0%}} more bandwidth from {memory.device.name} than its "
                    "loaded-latency curve covers"
                )
                beyond[predicate] = drawn / curve.end_gb_per_s - 1.0
        if float(self.total[INDEPENDENT] + self.total[CHASE]) > 0.0:
            in_flight = self.explanation.overlap.independent if self.total[INDEPENDENT] else 1.0
            for memory in (self.near, self.far):
                end = float(memory.chain_counts[-1])
                predicate = (
                    f"has {{:.0%}} more misses in flight in {memory.device.name} than its chains "
                    "curve covers"
                )
                beyond[predicate] = in_flight / end - 1.0 if end < COMPLETE_CHAINS else 0.0
        return {text: distance for text, distance in beyond.items() if distance > MIN_BEYOND}

    def effective_parallelism(self) -> float | None:
        """Return the loads' mean parallelism, a lower bound where compute overlaps."""
        chase, independent = float(self.total[CHASE]), float(self.total[INDEPENDENT])
        if chase + independent == 0.0:
            return None
        overlap = self.explanation.overlap
        overlapped = chase * self.near.cost_ns(overlap.chase)
        overlapped += independent * self.near.cost_ns(overlap.independent)
        return (chase + independent) * self.near.cost_ns(1.0) / overlapped

    @cached_property
    def _all_moved_ns(self) -> Array:
        """Time with the whole phase moved, which interval, bound and objects need."""
        moved = self._perturbed(self.phase.total)
        if self.far.is_near:
            return self._split_time(moved, self._parts(moved))
        return self._time_of_parts(moved, [NO_TRAFFIC, self._all_far])

    def _perturbed(self, moved: Array) -> Array:
        """Return the moved traffic of this perturbation; none if far memory is near memory."""
        factor = 0.0 if self.far.is_near else self.perturbation.lines
        return moved if factor == 1.0 else moved * factor

    def _split_time(self, moved: Array, parts: list[TrafficTime]) -> Array:
        """Return the time of parts in both memories, at least what one core needs for them."""
        time_ns = self._time_of_parts(moved, parts)
        if self.far.is_near or self.phase.concurrency > MIN_LOADED_CONCURRENCY:
            return time_ns
        return np.asarray(np.maximum(time_ns, self._least_of_one_core_ns))

    def _time_of_parts(self, moved: Array, parts: list[TrafficTime]) -> Array:
        """Return the time of the near and the far part; `moved` loads the far memory."""
        if self._far_load is None:
            return np.asarray(self._time(parts, 1.0, self._least_ns(parts[1])))
        return np.asarray(self._fixed_point(moved, parts, self._far_load))

    def _parts(self, moved: Array) -> list[TrafficTime]:
        stays = self.explanation.all_near.without(self._part(moved, self.near))
        return [stays, self._far_part(moved)]

    @cached_property
    def _all_far(self) -> TrafficTime:
        return self._far_part(self.total)

    def _far_part(self, lines: Array) -> TrafficTime:
        """Return the time of far lines; page walks at hits wait as lines do, without bandwidth."""
        if self._moves_far == self._waits_far == 1.0:
            return self._part(lines, self.far)
        waiting = self._part(lines * self._waits_far, self.far)
        if self._moves_far == self._waits_far:
            return waiting
        moving = self._part(lines * self._moves_far, self.far)
        return replace(moving, loads=waiting.loads, stream=waiting.stream, buffers=waiting.buffers)

    def _part(
        self, lines: Array, memory: MemoryCosts, streams: StreamFetch | None = None
    ) -> TrafficTime:
        return traffic_time(
            lines,
            memory,
            self.explanation.overlap,
            streams or self.explanation.streams,
            self.phase.concurrency,
        )

    def _time(self, parts: list[TrafficTime], far_factor: Number, least_ns: Number) -> Any:
        explanation = self.explanation
        time_ns = explanation.scale * core_time_ns(
            explanation.other_ns,
            parts,
            [explanation.near_factor, far_factor],
            self._bandwidth_share(parts),
            explanation.queueing,
        )
        return arithmetic(time_ns, least_ns).larger(time_ns, least_ns)

    def _least_ns(self, far: TrafficTime) -> Any:
        """Return the time of the far part that takes longest by itself."""
        larger, explanation = arithmetic(far.loads).larger, self.explanation
        least_ns = far.all_lines
        if explanation.scale != 1.0:
            least_ns = least_ns * self._far_limit
        for part, trust in zip(far.alone, explanation.trust, strict=True):
            least_ns = larger(least_ns, part if trust == 1.0 else part * trust)
        return least_ns

    def _bandwidth_share(self, parts: list[TrafficTime]) -> Number:
        """Return the share of their bandwidths that memories on shared channels give."""
        if self.far.channel_sharing is None:
            return 1.0
        near_lines, far_lines = (part.lines for part in parts)
        return self.far.channel_sharing.at(far_lines / np.maximum(near_lines + far_lines, 1e-9))

    @property
    def _far_bandwidth_share(self) -> float:
        """Share of its bandwidth that far memory gives if all lines are there."""
        return float(self._bandwidth_share([NO_TRAFFIC, self._all_far]))

    @cached_property
    def _least_of_one_core_ns(self) -> float:
        """Minimum time with a part far: one core draws no more from two memories than from one."""
        return min(self.near_time_ns, float(InversionModel.times_ns(self, self.phase.total)))

    @cached_property
    def _far_limit(self) -> float:
        """Factor on far bandwidth time that gives the minimum time."""
        near, far = self.explanation.all_near, self._all_far
        return float(far_limit(self.explanation.scale, near.all_lines, far.all_lines))

    def _fixed_point(self, moved: Array, parts: list[TrafficTime], load: LoadedFactor) -> Any:
        """Return the time at which latency and drawn bandwidth agree."""
        drawn = drawn_gb_per_s(self.phase, self.far, moved, 1.0)
        least_ns = self._least_ns(parts[1])

        def time_ns(factor: Number) -> Any:
            return self._time(parts, factor, least_ns)

        if moved.ndim == 1:
            drawn_ns = float(drawn)
            return time_ns(
                settled_factor(
                    lambda factor: load.at_one(drawn_ns / max(time_ns(factor), 1.0)),
                    load.greatest,
                ),
            )
        return time_ns(
            settled_factors(
                lambda factors: load.at(drawn / np.maximum(time_ns(factors), 1.0)),
                load.greatest,
                moved.shape[:-1],
            ),
        )

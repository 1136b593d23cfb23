"""Bytes over bandwidth: for programs that memory's bandwidth alone holds back.

The NVDIMM thesis' model (time = traffic / STREAM bandwidth), with reads and writes apart, both
memories drawn upon at once, and near time that traffic does not explain left as it is. It knows no
latency: for a chase it is a lower bound.
"""

from __future__ import annotations

import numpy as np

from nearfar.documents.prediction import Bound
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import MODELS, Model
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
    misses,
    write_backs,
)

MANY_WAIT = 0.2
"""Share of misses that wait from which that is worth a word, as of streams in `caveats`."""


@MODELS.register("traffic")
class TrafficModel(Model):
    """The longer of both memories' bandwidth times, and what near time leaves over."""

    name = "traffic"

    def times_ns(self, moved: Array) -> Array:
        """Return other time and the longer bandwidth time, ns."""
        moved = moved * self.doubt.lines
        rest = np.maximum(self.total - moved, 0.0)
        threads = self.phase.concurrency
        near, far = line_costs_ns(self.near, threads), line_costs_ns(self.far, threads)
        before = float(self.total @ near)
        # Where it ran faster than near bandwidth allows, the figures are too low alike.
        scale = min(1.0, self.near_time_ns / before) if before > 0 else 1.0
        other_ns = self.near_time_ns - scale * before
        both_ns = np.maximum(rest @ near, moved @ far)
        if self.far.together is not None:
            far_share = lines_moved(moved) / max(float(lines_moved(self.total)), 1e-9)
            both_ns = both_ns / self.far.together.at(far_share)
        return np.asarray(other_ns + scale * both_ns)

    def bound(self) -> Bound:
        """Bandwidth, where it takes more than half of the time with everything far."""
        far_ns = float(self.total @ line_costs_ns(self.far, self.phase.concurrency))
        return "bandwidth" if far_ns > 0.5 * float(self.times_ns(self.total)) else "compute"

    def remarks(self) -> list[str]:
        """Say where it is a lower bound."""
        lines = float(misses(self.total))
        waiting = float(self.total[[CHASE, INDEPENDENT]].sum()) / lines if lines else 0.0
        if waiting < MANY_WAIT:
            return []
        return [
            f"traffic knows no latency: {waiting:.0%} of the misses of phase {self.phase.name!r} "
            "are no stream, so its time is a lower bound"
        ]


def lines_moved(lines: Array) -> Array:
    """Return lines read and written back."""
    return misses(lines) + write_backs(lines)


def line_costs_ns(memory: MemoryCosts, threads: float) -> Array:
    """Return the bandwidth time of a line by column, ns of CPU time while `threads` share it.

    A stream takes at least what one core needs for it alone.
    """
    costs = np.zeros(COLUMNS)
    costs[[CHASE, INDEPENDENT, STORE]] = memory.read_ns[0] * threads
    costs[[STREAM, STORE_STREAM]] = max(memory.read_ns[1] * threads, memory.core_stream_ns)
    costs[WRITE_BACK], costs[WRITE_BACK_STREAM] = (ns * threads for ns in memory.write_ns)
    return costs

"""Bytes over bandwidth: for programs that only memory bandwidth limits.

The NVDIMM thesis' model (time = traffic / STREAM bandwidth), with separate reads and writes, and
both memories used at once; near time that traffic does not explain stays. It ignores latency: for a
chase it is a lower bound.
"""

from __future__ import annotations

import numpy as np

from nearfar.documents.prediction import Bound
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import MODELS, Model
from nearfar.predict.traffic import (
    CHASE,
    INDEPENDENT,
    Array,
    column_costs,
    misses,
    write_backs,
)

MANY_WAITING_MISSES = 0.2
"""Share of misses outside streams above which the model warns, as `caveats` does for streams."""


@MODELS.register("traffic")
class TrafficModel(Model):
    """The longer of both memories' bandwidth times, plus the remainder of near time."""

    name = "traffic"

    def times_ns(self, moved: Array) -> Array:
        """Return other time plus the longer bandwidth time, ns."""
        moved = moved * self.perturbation.lines
        rest = np.maximum(self.total - moved, 0.0)
        threads = self.phase.concurrency
        near, far = line_costs_ns(self.near, threads), line_costs_ns(self.far, threads)
        before = float(self.total @ near)
        # If the program ran faster than near bandwidth allows, the bandwidths of both memories are
        # too low by this factor.
        scale = min(1.0, self.near_time_ns / before) if before > 0 else 1.0
        other_ns = self.near_time_ns - scale * before
        both_ns = np.maximum(rest @ near, moved @ far)
        if self.far.channel_sharing is not None:
            far_share = lines_moved(moved) / max(float(lines_moved(self.total)), 1e-9)
            both_ns = both_ns / self.far.channel_sharing.at(far_share)
        return np.asarray(other_ns + scale * both_ns)

    def bound(self) -> Bound:
        """Return bandwidth where it takes more than half of all-far time, else compute."""
        far_ns = float(self.total @ line_costs_ns(self.far, self.phase.concurrency))
        return "bandwidth" if far_ns > 0.5 * float(self.times_ns(self.total)) else "compute"

    def remarks(self) -> list[str]:
        """Return a warning where it is a lower bound."""
        lines = float(misses(self.total))
        waiting = float(self.total[[CHASE, INDEPENDENT]].sum()) / lines if lines else 0.0
        if waiting < MANY_WAITING_MISSES:
            return []
        return [
            f"traffic ignores latency: {waiting:.0%} of the misses of phase {self.phase.name!r} "
            "are outside streams, so its time is a lower bound"
        ]


def lines_moved(lines: Array) -> Array:
    """Return lines read and written back."""
    return misses(lines) + write_backs(lines)


def line_costs_ns(memory: MemoryCosts, threads: float) -> Array:
    """Return the bandwidth time of a line by column, ns of CPU time while `threads` share it.

    A streamed line takes at least the time that one core needs for it.
    """
    random_ns = memory.read_ns[0] * threads
    stream_ns = max(memory.read_ns[1] * threads, memory.core_stream_ns)
    return column_costs(random_ns, random_ns, stream_ns, *(ns * threads for ns in memory.write_ns))

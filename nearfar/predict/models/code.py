"""Counts times costs: each line costs what its class waits, independent of near time.

For programs known from their code (`nearfar predict FILE.toml`, see `code_file`): a chase waits the
full latency, independent lines overlap as far as measured cores do, streams and write-backs cost
bandwidth. Nothing is inverted. The remainder of near time is computation and stays. Where the
counts alone would take longer than near time, both memories' costs are scaled down equally.
"""

from __future__ import annotations

import numpy as np

from nearfar.documents.prediction import Bound
from nearfar.predict.core_time import INDEPENDENT_PRIOR
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import MODELS, Model
from nearfar.predict.traffic import (
    Array,
    column_costs,
)


@MODELS.register("code")
class CodeModel(Model):
    """Computation plus the waiting of each class in both memories."""

    name = "code"

    def prepare(self) -> None:
        """Compute what is the same for all placements."""
        waiting = float(waiting_ns(self.total, self.near, self.phase.concurrency))
        self._scale = min(1.0, self.near_time_ns / waiting) if waiting > 0.0 else 1.0

    def times_ns(self, moved: Array) -> Array:
        """Return near time with far instead of near waits for the moved lines, ns."""
        if self.far.is_near:
            return np.full(moved.shape[:-1], self.near_time_ns)
        threads = self.phase.concurrency
        costs = line_costs_ns(self.far, threads) - line_costs_ns(self.near, threads)
        added = self._scale * ((moved * self.perturbation.lines) @ costs)
        return np.asarray(np.maximum(self.near_time_ns + added, 0.0))

    def bound(self) -> Bound:
        """Return compute where waiting is less than half of the time, else latency."""
        waiting = self._scale * float(waiting_ns(self.total, self.far, self.phase.concurrency))
        return "latency" if waiting > 0.5 * float(self.times_ns(self.total)) else "compute"


def waiting_ns(lines: Array, memory: MemoryCosts, threads: float = 1.0) -> Array:
    """Return the waiting for `lines` (..., COLUMNS) in `memory`, ns."""
    return np.asarray(lines @ line_costs_ns(memory, threads))


def line_costs_ns(memory: MemoryCosts, threads: float) -> Array:
    """Return ns per line by column; `threads` share the bandwidth of writes."""
    independent_ns = memory.cost_ns(INDEPENDENT_PRIOR)
    write_ns = (ns * threads for ns in memory.write_ns)
    return column_costs(memory.latency_ns, independent_ns, memory.core_stream_ns, *write_ns)

"""X-Mem: each access pattern has one effective latency in each memory.

Dulloor et al., Data Tiering in Heterogeneous Memory Systems, EuroSys 2016: pointer chases wait in
full, random accesses overlap, streams hide behind the prefetcher. A moved miss adds the difference
of its pattern's effective latencies; near time stays the same.
"""

from __future__ import annotations

import numpy as np

from nearfar.documents.prediction import Bound
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import MODELS, Model
from nearfar.predict.traffic import (
    CHASE,
    INDEPENDENT,
    STORE,
    Array,
    column_costs,
)

RANDOM_CHAINS = 8.0
"""Misses in flight for the effective latency of random accesses. X-Mem's paper gives no number; its
random pattern is independent loads, of which cores of its time had 8 to 10 in flight."""


@MODELS.register("xmem")
class XMemModel(Model):
    """Near time plus the misses of each pattern times its difference of latencies."""

    name = "xmem"

    def times_ns(self, moved: Array) -> Array:
        """Return near time plus the moved lines' added effective latencies, ns."""
        added = effective_latencies_ns(self.far) - effective_latencies_ns(self.near)
        return np.asarray(
            np.maximum(0.0, self.near_time_ns + (moved * self.perturbation.lines) @ added)
        )

    def bound(self) -> Bound:
        """Return what takes most of the time: other work, random lines, or streams and writes."""
        costs = self.total * effective_latencies_ns(self.far)
        latency_ns = float(costs[[CHASE, INDEPENDENT, STORE]].sum())
        bandwidth_ns = float(costs.sum()) - latency_ns
        if latency_ns + bandwidth_ns < 0.5 * float(self.times_ns(self.phase.total)):
            return "compute"
        return "bandwidth" if bandwidth_ns > latency_ns else "latency"

    def remarks(self) -> list[str]:
        """Return what it omits, in a sentence."""
        return [
            "xmem adds an effective latency per line: no shared bandwidth, no overlap except its "
            f"pattern's ({RANDOM_CHAINS:g} random misses in flight)"
        ]


def effective_latencies_ns(memory: MemoryCosts) -> Array:
    """Return ns per line by column: chase, random and streaming, read and written."""
    random_ns = memory.cost_ns(RANDOM_CHAINS)
    return column_costs(memory.latency_ns, random_ns, memory.core_stream_ns, *memory.write_ns)

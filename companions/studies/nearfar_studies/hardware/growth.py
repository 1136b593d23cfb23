"""Near time that a larger input adds in addition to its lines from memory.

If rows outgrow a core's private cache, lines that the cache contained before come from the last
level. The simulated window over the bursts of both inputs, with the core's unchanged figures, gives
the added time per operation. Lines from the last level use a prefetcher's buffers like those from
memory, so that nothing of the difference is hidden behind the stream; therefore the simulated
stream is as fast as memory's bandwidth.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from nearfar.base.estimate import Estimate
from nearfar.predict.core_window import CoreUnknowns
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.traffic import PhaseTraffic, misses
from nearfar.predict.window_fit import simulation

LEAST_KEPT = 0.5
"""Smallest share of a private cache that keeps lines: it has few ways, replacement is not by age,
and prefetched lines are added."""


def added_share(phase: PhaseTraffic, smaller: PhaseTraffic, near: MemoryCosts) -> Estimate:
    """Return the time that `phase` adds per operation, relative to near time of a smaller input.

    Both need bursts. The low end is that nothing is added.
    """
    near_ns = smaller.near_time_ns.value / (smaller.operations or 1.0)
    near = replace(near, core_stream_ns=near.read_ns[1], page_ends_ns=0.0)
    size = near.core.private_bytes
    assert size is not None  # `near_memory` makes all figures of a core known
    least = msgspec.structs.replace(size, value=LEAST_KEPT * size.value)
    less = replace(near, core=msgspec.structs.replace(near.core, private_bytes=least))
    shortest_ns = _per_operation_ns(smaller, near)
    value, high = (
        max(_per_operation_ns(phase, memory) - shortest_ns, 0.0) / near_ns
        for memory in (near, less)
    )
    return Estimate(value, 0.0, max(value, high))


def _per_operation_ns(phase: PhaseTraffic, near: MemoryCosts) -> float:
    per_miss_ns = simulation(phase, near).per_miss_ns(near, CoreUnknowns())
    return per_miss_ns * float(misses(phase.total)) / (phase.operations or 1.0)

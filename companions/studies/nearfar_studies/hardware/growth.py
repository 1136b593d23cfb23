"""Near time that a larger input takes besides its lines from memory: its private cache holds less.

Where rows outgrow a core's private cache, lines that it kept come from the last level. The
simulated window over the bursts of both inputs, with the core's figures as they are, says how much
longer that takes per operation. Lines from the last level take a prefetcher's buffers as those from
memory do: nothing of the difference hides behind the stream, so the simulated one is as fast as
memory's bandwidth.
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
"""Share of a private cache that keeps lines at least: ways are few, replacement is not by age, and
prefetched lines come in."""


def added_share(phase: PhaseTraffic, smaller: PhaseTraffic, near: MemoryCosts) -> Estimate:
    """Return the time that `phase` adds per operation, over near time of a smaller input.

    Both have bursts. The low end is that nothing is added.
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

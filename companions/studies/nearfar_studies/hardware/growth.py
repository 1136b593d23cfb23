"""Near time that a larger input adds in addition to its lines from memory.

The rows of a small input fit in a core's private cache. Those of a larger input do not, so the
last-level cache delivers their lines. The window is simulated over the bursts of both inputs with
the same core; the difference is the added time per operation. Lines from the last-level cache use
the same prefetch buffers as lines from memory, so the prefetched stream hides none of the
difference. Therefore the simulated stream runs at memory's bandwidth.
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
"""Smallest share of a private cache that holds reused lines. Few ways, replacement other than LRU
and prefetched lines take the rest."""


def added_share(phase: PhaseTraffic, smaller: PhaseTraffic, near: MemoryCosts) -> Estimate:
    """Return the time that `phase` adds per operation, divided by the near time of `smaller`.

    Both phases need bursts. The low end of the interval is 0: nothing is added.
    """
    near_ns = smaller.near_time_ns.value / (smaller.operations or 1.0)
    near = replace(near, core_stream_ns=near.read_ns[1], page_ends_ns=0.0)
    size = near.core.private_bytes
    assert size is not None  # `near_memory` makes all figures of a core known
    smallest_size = msgspec.structs.replace(size, value=LEAST_KEPT * size.value)
    near_with_smallest = replace(
        near, core=msgspec.structs.replace(near.core, private_bytes=smallest_size)
    )
    smaller_input_ns = _per_operation_ns(smaller, near)
    value, high = (
        max(_per_operation_ns(phase, memory) - smaller_input_ns, 0.0) / near_ns
        for memory in (near, near_with_smallest)
    )
    return Estimate(value, 0.0, max(value, high))


def _per_operation_ns(phase: PhaseTraffic, near: MemoryCosts) -> float:
    per_miss_ns = simulation(phase, near).per_miss_ns(near, CoreUnknowns())
    return per_miss_ns * float(misses(phase.total)) / (phase.operations or 1.0)

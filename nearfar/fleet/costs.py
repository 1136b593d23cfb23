"""The added cost of a line in far memory: the few numbers that a sum over a fleet needs.

The costs are those of `nearfar predict`. Each load of a chain waits for one latency. Independent
loads cost the time of the chains curve, at the parallelism that near time implies. Prefetched
loads, stores and write-backs cost the time in which one core moves a line.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearfar.documents import DeviceProfile
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.memory import MAX_CHAINS, MemoryCosts

STEPS = 4
"""Steps of parallelism per doubling: costs differ by < 5 % between two."""


@dataclass(frozen=True)
class LineCosts:
    """Costs of a near and a far memory, ns per line."""

    near_ns: float
    """One chain, near."""
    chase_ns: float
    """Added time of a load in a chain."""
    independent_ns: tuple[float, ...]
    """Added time of an independent load, with 2 ** (i / STEPS) in flight."""
    stream_ns: float
    write_back_ns: float


def costs_of(near: DeviceProfile, far: DeviceProfile) -> LineCosts:
    """Return the costs of lines; raise NearfarError if a device has too few values."""
    near_side = near_memory(near)
    far_side = far_memory(far, near_side)
    steps = np.arange(0, STEPS * np.log2(MAX_CHAINS) + 1)
    return LineCosts(
        near_ns=near_side.cost_ns(1.0),
        chase_ns=_more(near_side.cost_ns(1.0), far_side.cost_ns(1.0)),
        independent_ns=tuple(
            _more(near_side.cost_ns(2.0 ** (step / STEPS)), far_side.cost_ns(2.0 ** (step / STEPS)))
            for step in steps
        ),
        stream_ns=_more(near_side.core_stream_ns, far_side.core_stream_ns),
        write_back_ns=_more(_write(near_side), _write(far_side)),
    )


def _more(near_ns: float, far_ns: float) -> float:
    # A gain in one kind of access does not compensate a loss in another.
    return max(far_ns - near_ns, 0.0)


def _write(memory: MemoryCosts) -> float:
    return memory.write_ns[0]

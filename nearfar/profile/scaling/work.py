"""What a phase's near time is made of: accesses and misses of each cache, at every size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nearfar.base.units import format_bytes
from nearfar.profile.scaling.curves import level
from nearfar.profile.scaling.joined import Joined
from nearfar.profile.scaling.rows import RowAtTarget
from nearfar.profile.scaling.times import LEVELS, Work
from nearfar.profile.sums import Row

Array = NDArray[np.float64]

PREFETCHED_COST = 0.15
"""Of a miss's usual cost, where a prefetcher is ahead of it: 64 bytes at 10 GB/s are 6 ns of some
40 of a miss that is overlapped as usual."""


def work_of(
    joined: Joined,
    rows: Sequence[Sequence[Row]],
    results: dict[int, RowAtTarget],
    with_curve: Sequence[int],
) -> Work | None:
    """Return accesses and misses of nearer caches, at each size and the target."""
    used = [k for k in with_curve if results[k].read is not None]
    if not used or any(rows[k][at].read is None for k in used for at in range(1, len(rows[k]))):
        return None
    capacities = np.asarray(joined.largest.curve_bytes, dtype=float)
    cache = joined.largest.cache
    # Near time knows the machine's caches: what --llc simulates is another.
    own_cache = LEVELS[-1][0] if "--llc" in cache.origin else cache.size_bytes
    usual = [*LEVELS[:-1], (own_cache, LEVELS[-1][1])]
    sizes = [float(size) for size, _ in usual]

    def of(read: Array | None, write: Array | None) -> list[float]:
        if read is None or write is None:
            return [0.0 for _ in sizes]
        return [level(read + write, capacities, size) for size in sizes]

    counts = [
        [
            sum(rows[k][at].traffic.accesses for k in used),
            *np.sum([of(rows[k][at].read, rows[k][at].write) for k in used], axis=0),
        ]
        for at in range(len(joined.sizes))
    ]
    target = [
        sum(results[k].row.traffic.accesses for k in used),
        *np.sum([of(results[k].read, results[k].write) for k in used], axis=0),
    ]
    # What is not known of misses of the last level is not known of nearer ones either.
    value = sum(results[k].misses.estimate.value for k in used)
    low = sum(results[k].misses.estimate.low for k in used) / value if value else 1.0
    high = sum(results[k].misses.estimate.high for k in used) / value if value else 1.0
    names = ["accesses", *(f"misses of {format_bytes(size)}" for size in sizes)]
    at_target = np.array(target, dtype=float)
    on_demand_ns = np.array([0.0, *(cost for _, cost in usual)])
    spread = np.ones_like(at_target)
    return Work(
        names=tuple(names),
        counts=np.array(counts, dtype=float),
        at_target=at_target,
        low_at_target=at_target * np.where(np.arange(len(names)) > 0, low, spread),
        high_at_target=np.minimum(
            at_target * np.where(np.arange(len(names)) > 0, high, spread),
            np.maximum(at_target, at_target[0]),
        ),
        usual_ns=on_demand_ns * _waited(rows, used),
        on_demand_ns=on_demand_ns,
    )


def _waited(rows: Sequence[Sequence[Row]], used: Sequence[int]) -> float:
    """Return what these misses cost of the usual: what advances in order is prefetched.

    The order is seen of misses of the last level, at the sizes that ran. Nearer levels' may be
    others, and so may those that come new: a table is filled in order, and what then searches it
    misses only once it has outgrown a cache.
    """
    everything = ahead = 0.0
    for k in used:
        traffic = rows[k][-1].traffic
        everything += traffic.misses()
        for misses, seen in (
            (traffic.read_misses, traffic.read_sequential),
            (traffic.write_misses, traffic.write_sequential),
        ):
            others = seen.total() - seen.stream
            ahead += misses.stream + others
    share = min(1.0, ahead / everything) if everything else 0.0
    return 1.0 - (1.0 - PREFETCHED_COST) * share

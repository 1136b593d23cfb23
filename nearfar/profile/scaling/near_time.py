"""Near time of a size nobody ran.

By its own law of growth, or by what it is made of: accesses, and misses of caches, each at a cost.
The second sees what the first cannot: that data outgrow a cache between the largest size that ran
and the target. Costs are fitted to the sizes that ran; what these do not tell (nothing missed
there) is held by what such a miss costs on processors of the last years, give or take a lot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nearfar.base.statistics import Estimate
from nearfar.base.units import format_bytes
from nearfar.profile.scaling.curves import level
from nearfar.profile.scaling.growth import (
    CLEARLY_BETTER,
    LEAST_HALF_WIDTH,
    WORTH_A_PARAMETER,
    Growth,
    further,
    grow,
    mean_error,
    off_by,
    says,
    splits,
)
from nearfar.profile.scaling.joined import Joined
from nearfar.profile.scaling.rows import RowAtTarget
from nearfar.profile.traffic import Row

Array = NDArray[np.float64]

LEVELS = ((48 << 10, 2.0), (1 << 20, 8.0), (32 << 20, 30.0))
"""(capacity, ns): what a miss of L1, L2, L3 of a server core adds, some of it overlapped: their
latencies are about 4, 15 and 80 ns above the level before, and two or three are in flight
(findings of chains curves; key numbers). The last capacity is the profile's cache where known."""
PRIOR_FACTOR = 3.0
"""Costs differ by this much with how misses overlap: 1 to 10 in flight, 3 either way."""
PRIOR_WEIGHT = 0.03
"""Of being off by all of a cost at which the sizes that ran say nothing, against being off by as
much of a time: 3 %, so that any size in which misses matter overrides it."""
DRIFT = 0.1
"""Medians of runs minutes apart differ by 6 % (idle) to 14 % (neighbours) on virtual machines; more
repetitions do not mend it."""


@dataclass(frozen=True)
class Work:
    """What a phase did at each size: columns are accesses and misses of caches of rising size."""

    names: tuple[str, ...]
    counts: Array
    at_target: Array
    low_at_target: Array
    high_at_target: Array
    usual_ns: Array
    """What one of each costs on processors of the last years; 0 for accesses: not known."""
    on_demand_ns: Array
    """The same, were none of it prefetched."""


def near_time(
    sizes: Sequence[float], times: Sequence[Estimate], work: Work | None, target: float
) -> Growth:
    """Return near time at `target`, ns."""
    values = np.array([time.value for time in times])
    noise = _noise(times)
    own = grow(sizes, values.tolist(), target)
    chosen = own
    if work is not None:
        composed = _composed(sizes, values, work, target)
        bound = min(CLEARLY_BETTER * composed.mean_error, composed.mean_error - WORTH_A_PARAMETER)
        # Its own law must be clearly better: it does not know what the caches have in store.
        chosen = own if own.mean_error < bound else composed
        chosen = _spanning(chosen, (own, composed))
    below, above = (0.0, 0.0) if work is None else _unseen(work, values)
    ends = chosen.estimate
    low = min(ends.low, ends.value * (1.0 - noise), max(0.0, ends.value - below))
    high = max(ends.high, ends.value * (1.0 + noise), ends.value + above)
    return replace(chosen, estimate=Estimate(ends.value, low, high))


def _spanning(chosen: Growth, rivals: Sequence[Growth]) -> Growth:
    """Return it with an interval that holds both: where they disagree, neither is known."""
    ends, values = chosen.estimate, [rival.estimate.value for rival in rivals]
    return replace(
        chosen, estimate=Estimate(ends.value, min(ends.low, *values), max(ends.high, *values))
    )


def _composed(sizes: Sequence[float], times: Array, work: Work, target: float) -> Growth:
    """Return near time as the sum of what accesses and misses cost."""
    tests = splits(sizes, target)
    told = []
    for train, test in tests:
        costs = _costs(work.counts[train], times[train], work.usual_ns)
        off = off_by(float(work.counts[test] @ costs), float(times[test]), 0.0)
        told.append((off, says(sizes, train, test)))
    costs = _costs(work.counts, times, work.usual_ns)
    value = float(work.at_target @ costs)
    lows, highs = [], []
    for factor in (1 / PRIOR_FACTOR, 1.0, PRIOR_FACTOR):
        other = _costs(work.counts, times, work.usual_ns * factor)
        lows.append(float(work.low_at_target @ other))
        highs.append(float(work.high_at_target @ other))
    worst = max(error for error, _ in told)
    half = max(LEAST_HALF_WIDTH, worst * further(sizes, target, tests))
    law = " + ".join(
        f"{cost:.3g} ns x {name}"
        for cost, name, count in zip(costs, work.names, work.at_target, strict=True)
        if cost * count > 0.01 * value
    )
    ends = Estimate(
        value,
        min(value * float(np.exp(-half)), *lows),
        max(value * float(np.exp(half)), *highs),
    )
    return Growth(law, worst, mean_error(told), ends)


def _unseen(work: Work, times: Array) -> tuple[float, float]:
    """Return by how much less and more the misses that come new at the target may cost, ns.

    Those beyond as many an access as at the largest size that ran: that size's time was fitted with
    fewer of them, and says little of theirs. They may cost what such misses cost elsewhere, or so
    much that the largest size's time would have been off by no more than runs drift.
    """
    costs = _costs(work.counts, times, work.usual_ns)
    grown = work.at_target[0] / work.counts[-1][0] if work.counts[-1][0] else 0.0
    fresh = np.maximum(0.0, work.at_target - work.counts[-1] * grown)
    least = work.usual_ns / PRIOR_FACTOR
    # Whether a prefetcher is ahead of misses that come new was not seen (see `work`).
    most = np.maximum(work.usual_ns * PRIOR_FACTOR, work.on_demand_ns)
    known = work.usual_ns > 0
    below = np.where(known, np.maximum(0.0, costs - least), 0.0)
    told = DRIFT * times[-1] / np.maximum(work.counts[-1], 1.0)
    likely = np.maximum(most - costs, np.minimum(told, (PRIOR_FACTOR - 1.0) * costs))
    above = np.where(known, np.maximum(0.0, likely), 0.0)
    return float(fresh @ below), float(fresh @ above)


def _costs(counts: Array, times: Array, usual_ns: Array) -> Array:
    """Return what each thing counted costs, ns, none below 0.

    Least squares of relative errors of times, with a weak pull of each cost to its usual one.
    """
    from scipy.optimize import nnls

    known = usual_ns > 0
    rows = counts / times[:, None]
    wanted = np.ones(len(times))
    pulls = PRIOR_WEIGHT * np.diag(1.0 / np.where(known, usual_ns, 1.0))[known]
    scale = np.maximum(rows.max(axis=0), 1e-12)
    system = np.vstack([rows, pulls]) / scale
    found, _ = nnls(system, np.concatenate([wanted, PRIOR_WEIGHT * np.ones(int(known.sum()))]))
    return np.asarray(found / scale, dtype=float)


def _noise(times: Sequence[Estimate]) -> float:
    """Return by what share the largest size's time is off by chance."""
    last = times[-1]
    return max(DRIFT, (last.high - last.low) / 2 / last.value if last.value > 0 else 0.0)


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

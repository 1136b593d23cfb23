"""Near time at a size that was never run.

Two methods compete: the law of growth of the time itself, and a sum of accesses and cache misses,
each times a cost. Only the sum accounts for data that outgrow a cache between the largest size that
ran and the target. Costs are fitted to the sizes that ran. If nothing missed a cache there, the
cost of its misses stays near the usual cost on recent processors, within a wide range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from nearfar.base.estimate import Estimate
from nearfar.base.units import format_bytes
from nearfar.profile.scaling.curves import level
from nearfar.profile.scaling.growth import (
    BETTER_SHARE,
    MIN_ERROR_GAIN,
    MIN_HALF_WIDTH,
    Growth,
    extrapolation_factor,
    grow,
    held_out_weight,
    log_error,
    mean_error,
    splits,
)
from nearfar.profile.scaling.joined import JoinedProfiles
from nearfar.profile.scaling.rows import RowAtTarget
from nearfar.profile.traffic import TrafficSum

Array = NDArray[np.float64]

USUAL_COSTS = ((48 << 10, 2.0), (1 << 20, 8.0), (32 << 20, 30.0))
"""(capacity in bytes, ns per miss) of L1, L2 and L3 of a server core. Latencies are about 4, 15 and
80 ns above the level before, with two or three misses in flight (measured chains curves). The last
capacity is replaced by the profile's cache where that is known."""
PRIOR_FACTOR = 3.0
"""Range of a cost, as a factor either way: 1 to 10 misses may be in flight."""
PRIOR_WEIGHT = 0.03
"""Weight of a usual cost in the fit, against the relative error of one time: small, so that any
size in which misses matter overrides it."""
RUN_DRIFT = 0.1
"""Relative drift of near time: medians of runs minutes apart differ by 6 % (idle) to 14 % (busy
neighbours) on virtual machines. More repetitions do not reduce it."""


@dataclass(frozen=True)
class PhaseWork:
    """Counts of a phase at each size: accesses, then misses of caches of rising capacity."""

    names: tuple[str, ...]
    counts: Array
    at_target: Array
    low_at_target: Array
    high_at_target: Array
    usual_ns: Array
    """Cost of one of each on recent processors, ns; 0 for accesses, whose cost is not known."""
    on_demand_ns: Array
    """The same if nothing were prefetched."""


def near_time(
    sizes: Sequence[float], times: Sequence[Estimate], work: PhaseWork | None, target: float
) -> Growth:
    """Extrapolate near time to `target`, in ns."""
    values = np.array([time.value for time in times])
    noise = _noise(times)
    own_law = grow(sizes, values.tolist(), target)
    chosen = own_law
    if work is not None:
        composed = _composed(sizes, values, work, target)
        bound = min(BETTER_SHARE * composed.mean_error, composed.mean_error - MIN_ERROR_GAIN)
        # The law of the time itself must be clearly better: it knows nothing of caches.
        chosen = own_law if own_law.mean_error < bound else composed
        chosen = _spanning(chosen, (own_law, composed))
    below, above = (0.0, 0.0) if work is None else _new_miss_costs_ns(work, values)
    estimate = chosen.estimate
    low = min(estimate.low, estimate.value * (1.0 - noise), max(0.0, estimate.value - below))
    high = max(estimate.high, estimate.value * (1.0 + noise), estimate.value + above)
    return replace(chosen, estimate=Estimate(estimate.value, low, high))


def _spanning(chosen: Growth, rivals: Sequence[Growth]) -> Growth:
    """Widen the interval to cover all rivals: where they disagree, none is certain."""
    ends, values = chosen.estimate, [rival.estimate.value for rival in rivals]
    return replace(
        chosen, estimate=Estimate(ends.value, min(ends.low, *values), max(ends.high, *values))
    )


def _composed(sizes: Sequence[float], times: Array, work: PhaseWork, target: float) -> Growth:
    """Extrapolate near time as the sum of the costs of accesses and misses."""
    tests = splits(sizes, target)
    test_errors = []
    for train, test in tests:
        costs = _costs(work.counts[train], times[train], work.usual_ns)
        off = log_error(float(work.counts[test] @ costs), float(times[test]), 0.0)
        test_errors.append((off, held_out_weight(sizes, train, test)))
    costs = _costs(work.counts, times, work.usual_ns)
    value = float(work.at_target @ costs)
    lows, highs = [], []
    for factor in (1 / PRIOR_FACTOR, 1.0, PRIOR_FACTOR):
        other = _costs(work.counts, times, work.usual_ns * factor)
        lows.append(float(work.low_at_target @ other))
        highs.append(float(work.high_at_target @ other))
    worst = max(error for error, _ in test_errors)
    half = max(MIN_HALF_WIDTH, worst * extrapolation_factor(sizes, target, tests))
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
    return Growth(law, worst, mean_error(test_errors), ends)


def _new_miss_costs_ns(work: PhaseWork, times: Array) -> tuple[float, float]:
    """Return by how much less and more, in ns, the misses that are new at the target may cost.

    New misses are those beyond the largest size's misses per access: that size's time contains
    fewer of them and says little about their cost. They may cost what such misses usually cost, or
    as much as the drift of the largest size's time would hide.
    """
    costs = _costs(work.counts, times, work.usual_ns)
    grown = work.at_target[0] / work.counts[-1][0] if work.counts[-1][0] else 0.0
    new_misses = np.maximum(0.0, work.at_target - work.counts[-1] * grown)
    least = work.usual_ns / PRIOR_FACTOR
    # Whether new misses are prefetched is unknown (see `_waited_share`).
    most = np.maximum(work.usual_ns * PRIOR_FACTOR, work.on_demand_ns)
    known = work.usual_ns > 0
    below = np.where(known, np.maximum(0.0, costs - least), 0.0)
    hidden_by_drift = RUN_DRIFT * times[-1] / np.maximum(work.counts[-1], 1.0)
    likely = np.maximum(most - costs, np.minimum(hidden_by_drift, (PRIOR_FACTOR - 1.0) * costs))
    above = np.where(known, np.maximum(0.0, likely), 0.0)
    return float(new_misses @ below), float(new_misses @ above)


def _costs(counts: Array, times: Array, usual_ns: Array) -> Array:
    """Fit the cost of each column of `counts`, in ns, none below 0.

    Least squares of relative errors of times, with a weak pull of each cost to its usual value.
    """
    known = usual_ns > 0
    rows = counts / times[:, None]
    ones = np.ones(len(times))
    pulls = PRIOR_WEIGHT * np.diag(1.0 / np.where(known, usual_ns, 1.0))[known]
    scale = np.maximum(rows.max(axis=0), 1e-12)
    system = np.vstack([rows, pulls]) / scale
    scaled_costs, _ = nnls(system, np.concatenate([ones, PRIOR_WEIGHT * np.ones(int(known.sum()))]))
    return np.asarray(scaled_costs / scale, dtype=float)


def _noise(times: Sequence[Estimate]) -> float:
    """Return the relative random error of the largest size's time."""
    last = times[-1]
    return max(RUN_DRIFT, (last.high - last.low) / 2 / last.value if last.value > 0 else 0.0)


PREFETCHED_COST = 0.15
"""Cost of a prefetched miss over that of a usual one: 64 bytes at 10 GB/s take 6 ns, an overlapped
miss about 40 ns."""


def count_work(
    joined: JoinedProfiles,
    rows: Sequence[Sequence[TrafficSum]],
    results: dict[int, RowAtTarget],
    with_curve: Sequence[int],
) -> PhaseWork | None:
    """Count accesses and misses of each cache, at each size and the target.

    `rows` are by object and size, `results` by object. Only the objects `with_curve` count. None:
    an object has no curve at the target or at a size other than the smallest.
    """
    used = [k for k in with_curve if results[k].read is not None]
    if not used or any(row.read is None for k in used for row in rows[k][1:]):
        return None
    caches = _usual_caches(joined)
    curve_bytes = np.asarray(joined.largest.curve_bytes, dtype=float)

    def counts(accesses: float, read: Array | None, write: Array | None) -> list[float]:
        """Return accesses of one object, then its misses of each cache."""
        if read is None or write is None:
            return [accesses, *(0.0 for _ in caches)]
        return [accesses, *(level(read + write, curve_bytes, size) for size, _ in caches)]

    by_size = [
        [counts(row.traffic.accesses, row.read, row.write) for row in (rows[k][at] for k in used)]
        for at in range(len(joined.sizes))
    ]
    target = [counts(r.row.traffic.accesses, r.read, r.write) for r in (results[k] for k in used)]
    at_target = np.sum(target, axis=0)
    # The uncertainty of last-level misses applies to nearer levels too.
    low, high = _miss_factors([results[k] for k in used])
    highest = at_target * np.array([1.0, *(high for _ in caches)])
    on_demand_ns = np.array([0.0, *(cost for _, cost in caches)])
    return PhaseWork(
        names=("accesses", *(f"misses of {format_bytes(size)}" for size, _ in caches)),
        counts=np.sum(by_size, axis=1),
        at_target=at_target,
        low_at_target=at_target * np.array([1.0, *(low for _ in caches)]),
        # An access misses a cache at most once.
        high_at_target=np.minimum(highest, np.maximum(at_target, at_target[0])),
        usual_ns=on_demand_ns * _waited_share(rows, used),
        on_demand_ns=on_demand_ns,
    )


def _usual_caches(joined: JoinedProfiles) -> list[tuple[float, float]]:
    """Return capacity and usual cost of a miss of each cache, the last one as on this machine."""
    cache = joined.largest.cache
    *inner, (usual_bytes, last_ns) = USUAL_COSTS
    # Near time depends on the machine's caches, not on what --llc simulates.
    last_bytes = usual_bytes if "--llc" in cache.origin else cache.size_bytes
    return [*inner, (last_bytes, last_ns)]


def _miss_factors(results: Sequence[RowAtTarget]) -> tuple[float, float]:
    """Return the least and most last-level misses at the target over their value."""
    estimates = [result.misses.estimate for result in results]
    value = sum(estimate.value for estimate in estimates)
    if not value:
        return 1.0, 1.0
    low = sum(estimate.low for estimate in estimates)
    return low / value, sum(estimate.high for estimate in estimates) / value


def _waited_share(rows: Sequence[Sequence[TrafficSum]], used: Sequence[int]) -> float:
    """Return the cost of these misses over the usual cost: misses in sequence are prefetched.

    The sequence is known for last-level misses at the sizes that ran. Misses of nearer levels and
    new misses may differ: a program fills a table in sequence, and its searches in the table miss
    only once the table has outgrown a cache.
    """
    misses_total = prefetched = 0.0
    for k in used:
        traffic = rows[k][-1].traffic
        misses_total += traffic.misses()
        for misses, seen in (
            (traffic.read_misses, traffic.read_sequential),
            (traffic.write_misses, traffic.write_sequential),
        ):
            others = seen.total() - seen.stream
            prefetched += misses.stream + others
    share = min(1.0, prefetched / misses_total) if misses_total else 0.0
    return 1.0 - (1.0 - PREFETCHED_COST) * share

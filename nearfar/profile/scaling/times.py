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

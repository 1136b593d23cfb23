"""Bandwidth of two memories that are used at once, from measured joint limits."""

from __future__ import annotations

import numpy as np

from nearfar.documents.machine import JointLimit

FIRST = "A->A"
"""The copy that the first group of threads runs in every measured split."""


def joint_bandwidth(limit: JointLimit, demand_a: float, demand_b: float) -> tuple[float, float]:
    """Return the bandwidths that memories A and B reach together for two demands, GB/s of payload.

    Each memory reaches at most its bandwidth alone. If the memories share a limit, the sum of both
    is at most that of the measured split with the same ratio of traffic (interpolated between
    splits). Both bandwidths are then reduced by the same factor, as if threads wait in one queue.
    """
    if demand_a < 0 or demand_b < 0:
        raise ValueError("a demand cannot be negative")
    a, b = min(demand_a, limit.alone_gb_per_s[0]), min(demand_b, limit.alone_gb_per_s[1])
    if not limit.shared or a + b == 0:
        return a, b
    scale = min(1.0, _max_total_gb_per_s(limit, b / (a + b)) / (a + b))
    return a * scale, b * scale


def _max_total_gb_per_s(limit: JointLimit, share_b: float) -> float:
    """Return the greatest total bandwidth, GB/s, if B moves `share_b` (0..1) of the bytes."""
    points = {0.0: limit.alone_gb_per_s[0], 1.0: limit.alone_gb_per_s[1]}
    pairs = [
        split
        for split in limit.splits
        if split.copies == (FIRST, "B->B") and sum(split.gb_per_s) > 0
    ]
    for split in pairs:
        total = sum(split.gb_per_s)
        points[split.gb_per_s[1] / total] = total
    if not pairs:
        # Published limits may have no splits, but one figure for both memories together.
        points[0.5] = limit.together_gb_per_s
    shares = sorted(points)
    return float(np.interp(share_b, shares, [points[share] for share in shares]))

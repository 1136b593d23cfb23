"""Bandwidth of two memories that are used at once, from measured joint limits."""

from __future__ import annotations

import numpy as np

from nearfar.documents.machine import JointLimit

FIRST = "A->A"
"""The copy that the first group of threads runs in every measured split."""


def joint_bandwidth(limit: JointLimit, demand_a: float, demand_b: float) -> tuple[float, float]:
    """Return what A and B give of what is asked of both at once, GB/s of payload.

    Each gives at most what it gives alone. Where they share, their sum is held to that of the
    measured split whose traffic parts like the demand (between splits: interpolated), and both are
    cut by the same factor, as threads that wait in one queue.
    """
    if demand_a < 0 or demand_b < 0:
        raise ValueError("a demand cannot be negative")
    a, b = min(demand_a, limit.alone_gb_per_s[0]), min(demand_b, limit.alone_gb_per_s[1])
    if not limit.shared or a + b == 0:
        return a, b
    scale = min(1.0, _cap(limit, b / (a + b)) / (a + b))
    return a * scale, b * scale


def _cap(limit: JointLimit, share_b: float) -> float:
    """Return the most A and B give together if B moves `share_b` of the bytes."""
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
        # Published limits may come without splits: one figure for all of them.
        points[0.5] = limit.together_gb_per_s
    shares = sorted(points)
    return float(np.interp(share_b, shares, [points[share] for share in shares]))

"""Miss curves: from counted reuse distances to the misses of caches of any size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.documents.workload import MissCurve
from nearfar.profile.objects import Site
from nearfar.profile.run_file import CURVE_EDGES_BYTES, ProcessFile

NEAR_STACK_LINES = 4096 << 2
"""Reach of the near stack, in traced lines (native/sim/reuse/reuse_tracker.hpp)."""

MIN_CURVE_BYTES, MAX_CURVE_BYTES = 32 << 10, 1 << 40
PLACES = [
    place
    for place, edge in enumerate(CURVE_EDGES_BYTES)
    if MIN_CURVE_BYTES <= edge <= MAX_CURVE_BYTES
]
CURVE_BYTES = [float(CURVE_EDGES_BYTES[place]) for place in PLACES]

MIN_TOUCHES = 30
"""Sampled touches below which a curve is noise."""

COMPARED_SIZES = 6
"""Number of sizes (three octaves) below the near stack's reach where the two stacks are compared.
The median of the ratios hardly changes if one of the sizes equals a sweep's distance."""

Counts = NDArray[np.float64]


def miss_curves(
    files: Sequence[ProcessFile], object_of: Mapping[Site, int]
) -> dict[tuple[int, int], MissCurve]:
    """Return the curve of each (phase number, object), summed over processes."""
    totals: dict[tuple[int, int], list[Counts]] = {}
    touches: dict[tuple[int, int], float] = {}
    for process, file in enumerate(files):
        for row in file.curves:
            key = int(row["key"])
            phase, site, store = key >> 48, key >> 32 & 0xFFFF, key & 1
            number = object_of.get((process, site))
            if number is None:
                continue
            place = (phase, number)
            both = totals.setdefault(place, [np.zeros(len(PLACES)), np.zeros(len(PLACES))])
            both[store] += misses_by_size(row, file.rate)
            touches[place] = touches.get(place, 0.0) + float(row["near"].sum() + row["beyond"])
    return {
        place: MissCurve(read=read.round(1).tolist(), write=write.round(1).tolist())
        for place, (read, write) in totals.items()
        if touches[place] >= MIN_TOUCHES
    }


def misses_by_size(row: Any, rate: int) -> Counts:
    """Return the misses at each of `CURVE_BYTES`, from one record of reuse distances.

    The near stack counts up to its reach. Beyond it the far stack counts, scaled so that both agree
    where they overlap.
    """
    near, far, beyond = row["near"].astype(float), row["far"].astype(float), float(row["beyond"])
    reach_bytes = NEAR_STACK_LINES * rate * 64
    ends = np.array(CURVE_EDGES_BYTES)
    further_near = np.cumsum(near[::-1])[::-1]
    further_far = np.cumsum(far[::-1])[::-1]
    at_reach = int(np.searchsorted(ends, reach_bytes, side="right")) - 1
    most = further_near[at_reach + 1] + beyond
    # Both stacks count the touches beyond sizes within the reach of both. They differ if a distance
    # is close to such a size, as in a sweep.
    known = slice(max(1, at_reach + 1 - COMPARED_SIZES), at_reach + 2)
    by_far = further_far[known]
    agree = by_far > 0
    scale = (
        float(np.median((further_near[known] + beyond)[agree] / by_far[agree])) if any(agree) else 0
    )
    misses = np.empty(len(PLACES))
    for i, place in enumerate(PLACES):
        if place <= at_reach:
            misses[i] = further_near[place + 1] + beyond
        else:
            # If no far line is touched again, only the number of touches beyond the reach is known.
            misses[i] = min(most, further_far[place + 1] * scale) if scale else most
    return np.minimum.accumulate(misses * rate)

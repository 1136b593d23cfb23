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
"""Traced lines that the near stack reaches (native/sim/reuse/reuse_tracker.hpp)."""

MIN_CURVE_BYTES, MAX_CURVE_BYTES = 32 << 10, 1 << 40
PLACES = [
    place
    for place, edge in enumerate(CURVE_EDGES_BYTES)
    if MIN_CURVE_BYTES <= edge <= MAX_CURVE_BYTES
]
CURVE_BYTES = [float(CURVE_EDGES_BYTES[place]) for place in PLACES]

MIN_TOUCHES = 30
"""Touches looked at below which a curve is noise."""

COMPARED_SIZES = 6
"""Sizes below the near stack's reach, three octaves, at which the stacks are compared: one that is
a sweep's distance moves their median little."""

Counts = NDArray[np.float64]


def miss_curves(
    files: Sequence[ProcessFile], object_of: Mapping[Site, int]
) -> dict[tuple[int, int], MissCurve]:
    """Return the curve of each (phase number, object), all processes added up."""
    found: dict[tuple[int, int], list[Counts]] = {}
    touches: dict[tuple[int, int], float] = {}
    for process, file in enumerate(files):
        for row in file.curves:
            key = int(row["key"])
            phase, site, store = key >> 48, key >> 32 & 0xFFFF, key & 1
            thing = object_of.get((process, site))
            if thing is None:
                continue
            place = (phase, thing)
            both = found.setdefault(place, [np.zeros(len(PLACES)), np.zeros(len(PLACES))])
            both[store] += misses_by_size(row, file.rate)
            touches[place] = touches.get(place, 0.0) + float(row["near"].sum() + row["beyond"])
    return {
        place: MissCurve(read=read.round(1).tolist(), write=write.round(1).tolist())
        for place, (read, write) in found.items()
        if touches[place] >= MIN_TOUCHES
    }


def misses_by_size(row: Any, rate: int) -> Counts:
    """Return misses at each of `CURVE_BYTES`, of one record of reuse distances.

    Up to its reach the near stack counts, beyond it the far stack, times what it sees too little
    of what both know.
    """
    near, far, beyond = row["near"].astype(float), row["far"].astype(float), float(row["beyond"])
    reach_bytes = NEAR_STACK_LINES * rate * 64
    ends = np.array(CURVE_EDGES_BYTES)
    further_near = np.cumsum(near[::-1])[::-1]
    further_far = np.cumsum(far[::-1])[::-1]
    at_reach = int(np.searchsorted(ends, reach_bytes, side="right")) - 1
    most = further_near[at_reach + 1] + beyond
    # Both say how many touches lie beyond sizes that both know. They differ where a distance is
    # about that size, as that of a sweep may be: one sees it before the end and one after it.
    known = slice(max(1, at_reach + 1 - COMPARED_SIZES), at_reach + 2)
    by_far = further_far[known]
    agree = by_far > 0
    scale = (
        float(np.median((further_near[known] + beyond)[agree] / by_far[agree])) if any(agree) else 0
    )
    found = np.empty(len(PLACES))
    for i, place in enumerate(PLACES):
        if place <= at_reach:
            found[i] = further_near[place + 1] + beyond
        else:
            # Without a far line that was touched again, all that is known is that they are beyond.
            found[i] = min(most, further_far[place + 1] * scale) if scale else most
    return np.minimum.accumulate(found * rate)

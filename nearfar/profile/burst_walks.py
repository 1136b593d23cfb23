"""Which page walks in bursts find the line of the page table that a walk just before has read.

A line of a page table is of eight pages. A binary search ends with steps of 16, 8 and 4 KiB, each
to a page whose translation is not kept, and all three read one line: the first waits for it, the
others find it in the core's own cache. How many walks there are the profile counts; in what order
they come only bursts say. Which of a burst's accesses walk is not known, since its own translations
are cold: taken are as many as the profile counts, of the pages that the fewest bursts touch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PAGE_LOG2 = 12
LINE_LOG2 = 15
"""Bytes of data that a line of a page table is of: 8 entries of 8 bytes."""

JUST_BEFORE = 100
"""Accesses: what a walk reads stays in a first-level cache for longer than that."""

FEWEST = 30
"""Walks in all bursts together: fewer say little."""


@dataclass(frozen=True, eq=False)
class Addresses:
    """One burst's accesses in order."""

    address: NDArray[np.uint64]
    streams: NDArray[np.bool_]
    """Whether the instruction reads or writes in sequence: such walk once a page."""


def apart(bursts: Sequence[Addresses], walks_per_access: float) -> float | None:
    """Return the share of the walks that read a line which no access just before led to, 0..1.

    Streams' walks do not count. None: there are too few walks in the bursts.
    """
    if not bursts:
        return None
    pages = [one.address >> np.uint64(PAGE_LOG2) for one in bursts]
    touched, in_bursts = np.unique(
        np.concatenate([np.unique(one) for one in pages]), return_counts=True
    )
    found = [
        (int(in_bursts[np.searchsorted(touched, page[place])]), _mixed(int(page[place])), led)
        for one, page in zip(bursts, pages, strict=True)
        for place, led in _first_touches(one, page)
    ]
    walks = round(walks_per_access * sum(len(one.address) for one in bursts))
    # Among equally cold ones by a hash, so that no part of the bursts is preferred.
    coldest = sorted(found)[:walks]
    if len(coldest) < FEWEST:
        return None
    return 1.0 - sum(led for _, _, led in coldest) / len(coldest)


def _first_touches(one: Addresses, page: NDArray[np.uint64]) -> list[tuple[int, bool]]:
    """Return where pages are touched first, streams left out, and whether the line of the table
    was led to just before.
    """
    first = np.zeros(len(page), dtype=bool)
    first[np.unique(page, return_index=True)[1]] = True
    first &= ~one.streams
    found, last = [], dict[int, int]()
    for place, line in enumerate((one.address >> np.uint64(LINE_LOG2)).tolist()):
        if first[place]:
            found.append((place, place - last.get(line, -JUST_BEFORE - 1) <= JUST_BEFORE))
        last[line] = place
    return found


def _mixed(number: int) -> int:
    return (number * 0x9E3779B97F4A7C15) >> 40 & 0xFFFFFF

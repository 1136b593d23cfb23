"""Dependences in bursts: which misses wait for another, and which page walks share a line.

A line of a page table has 8 entries, for 8 pages. A binary search ends with steps of 16, 8 and
4 KiB, each to a page whose translation is not cached, and all three read one line of the table:
the first walk waits for the line, the others find it in the core's private cache. The profile
counts walks, but only bursts show their order. Which translations are cached when a burst begins is
unknown. So as many walks as the profile counts are assumed to be first touches of the coldest
pages, which the fewest bursts touch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.documents.bursts import Bursts, ObjectBursts
from nearfar.profile.bursts.trace import BurstTrace
from nearfar.profile.run_file import Records

MAX_POINTERS = 32
"""Number of recently loaded values with which addresses are compared: values that a core may not
have used yet."""
MAX_FIELD_OFFSET_BYTES = 4096
"""Largest offset of an address from the loaded value it was made of: a field, a bucket."""
MIN_POINTER = 1 << 16
"""Smallest value that may be a pointer: nothing is mapped below."""


def object_bursts(
    bursts: Bursts, trace: BurstTrace, values: list[Records] | None
) -> list[ObjectBursts]:
    """Summarise what each object's misses depend on; `values`: the recorded accesses, if known."""
    of_access = np.array([access.object for access in bursts.accesses])
    missing = trace.missing
    owner = of_access[trace.access] if len(trace.access) else np.zeros(0, np.int64)
    parent = _missing_parents(trace, missing)
    depth = _depths(parent, missing)
    by_value = None if values is None else _by_values(trace, missing, values)
    summaries = []
    for number in np.unique(owner[missing]).tolist():
        own_misses = missing & (owner == number)
        loads = own_misses & ~trace.store
        count = max(1, int(loads.sum()))
        summaries.append(
            ObjectBursts(
                object=number,
                misses=float(own_misses.sum()),
                read_misses=float(loads.sum()),
                dependent_share=float((parent[loads] >= 0).sum()) / count,
                value_share=None if by_value is None else float(by_value[loads].sum()) / count,
                chain_depth=float(depth[own_misses].mean()),
                instructions_between=_instructions_between(trace, own_misses),
            )
        )
    return sorted(summaries, key=lambda summary: -summary.misses)


def _missing_parents(trace: BurstTrace, missing: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return, for each access, the latest missing load that its address depends on; -1: none."""
    parent = np.full(len(missing), -1, dtype=np.int64)
    for at, back in enumerate(trace.depends.tolist()):
        if back:
            before = at - back
            parent[at] = before if missing[before] else parent[before]
    return parent


def _depths(parent: NDArray[np.int64], missing: NDArray[np.bool_]) -> NDArray[np.float64]:
    depth = np.zeros(len(parent))
    for at in np.flatnonzero(missing).tolist():
        depth[at] = 1.0 + (depth[parent[at]] if parent[at] >= 0 else 0.0)
    return depth


def _instructions_between(trace: BurstTrace, own_misses: NDArray[np.bool_]) -> float:
    """Return the mean number of instructions from one of an object's misses to the next.

    Only pairs within one burst count. If no burst has two misses, the result is the number of all
    instructions of the trace.
    """
    gaps: list[float] = []
    for begin, end in zip(trace.starts, trace.starts[1:], strict=False):
        gaps.extend(np.diff(trace.at[begin:end][own_misses[begin:end]]).tolist())
    return float(np.mean(gaps)) if gaps else float(trace.instructions)


def _by_values(
    trace: BurstTrace, missing: NDArray[np.bool_], values: list[Records]
) -> NDArray[np.bool_]:
    """Return which missing accesses lie just above one of the last pointers loaded."""
    dependent = np.zeros(len(missing), dtype=bool)
    for begin, accesses in zip(trace.starts, values, strict=False):
        recent: deque[int] = deque(maxlen=MAX_POINTERS)
        for at, (address, value) in enumerate(
            zip(accesses["address"].tolist(), accesses["value"].tolist(), strict=True), begin
        ):
            if missing[at]:
                dependent[at] = any(
                    0 <= address - pointer < MAX_FIELD_OFFSET_BYTES for pointer in recent
                )
            if value >= MIN_POINTER:
                recent.append(value)
    return dependent


PAGE_LOG2 = 12
LINE_LOG2 = 15
"""log2 of the bytes of data that one line of a page table maps: 8 pages."""

REUSE_ACCESSES = 100
"""Accesses over which a line read by a walk stays in the first-level cache."""

MIN_WALKS = 30
"""Least number of walks in all bursts for a share of them."""


@dataclass(frozen=True, eq=False)
class BurstAddresses:
    """Accesses of one burst in order."""

    address: NDArray[np.uint64]
    streams: NDArray[np.bool_]
    """Whether the instruction accesses memory in sequence, and so walks once per page."""


def uncached_walk_share(bursts: Sequence[BurstAddresses], walks_per_access: float) -> float | None:
    """Return the share of walks, 0 to 1, whose line of the page table was not read just before.

    Walks of streams do not count. None: there are too few walks in the bursts.
    """
    if not bursts:
        return None
    pages = [burst.address >> np.uint64(PAGE_LOG2) for burst in bursts]
    touched, in_bursts = np.unique(
        np.concatenate([np.unique(burst) for burst in pages]), return_counts=True
    )
    first_touches = [
        (int(in_bursts[np.searchsorted(touched, page[place])]), _hash(int(page[place])), cached)
        for burst, page in zip(bursts, pages, strict=True)
        for place, cached in _first_touches(burst, page)
    ]
    walks = round(walks_per_access * sum(len(burst.address) for burst in bursts))
    # A hash orders equally cold pages, so that no part of the bursts is preferred.
    coldest = sorted(first_touches)[:walks]
    if len(coldest) < MIN_WALKS:
        return None
    return 1.0 - sum(cached for _, _, cached in coldest) / len(coldest)


def _first_touches(burst: BurstAddresses, page: NDArray[np.uint64]) -> list[tuple[int, bool]]:
    """Return where pages are first touched, and whether their table line was read just before.

    Streams are left out.
    """
    first = np.zeros(len(page), dtype=bool)
    first[np.unique(page, return_index=True)[1]] = True
    first &= ~burst.streams
    touches, last = [], dict[int, int]()
    for place, line in enumerate((burst.address >> np.uint64(LINE_LOG2)).tolist()):
        if first[place]:
            touches.append((place, place - last.get(line, -REUSE_ACCESSES - 1) <= REUSE_ACCESSES))
        last[line] = place
    return touches


def _hash(number: int) -> int:
    return (number * 0x9E3779B97F4A7C15) >> 40 & 0xFFFFFF

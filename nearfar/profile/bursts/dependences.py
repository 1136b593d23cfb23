"""What bursts say of each object: how many of its misses wait for another, and how far apart."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.documents.bursts import Bursts, ObjectBursts
from nearfar.profile.bursts.trace import Trace
from nearfar.profile.run_file import Records

POINTERS = 32
"""Values kept for the test of values: what a core may have loaded and not yet used."""
ABOVE_BYTES = 4096
"""An address so little above a loaded value was made of it: a field of a node, a bucket."""
LEAST_POINTER = 1 << 16
"""Below it, a value is a count or an index: nothing is ever mapped there."""


def describe(bursts: Bursts, trace: Trace, values: list[Records] | None) -> list[ObjectBursts]:
    """Return what the misses of each object depend on; `values`: accesses as recorded."""
    of_access = np.array([one.object for one in bursts.accesses])
    missing = trace.missing
    owner = of_access[trace.access] if len(trace.access) else np.zeros(0, np.int64)
    parent = _missing_parents(trace, missing)
    depth = _depths(parent, missing)
    by_value = None if values is None else _by_values(trace, missing, values)
    found = []
    for number in np.unique(owner[missing]).tolist():
        mine = missing & (owner == number)
        loads = mine & ~trace.store
        count = max(1, int(loads.sum()))
        found.append(
            ObjectBursts(
                object=number,
                misses=float(mine.sum()),
                read_misses=float(loads.sum()),
                dependent_share=float((parent[loads] >= 0).sum()) / count,
                value_share=None if by_value is None else float(by_value[loads].sum()) / count,
                chain_depth=float(depth[mine].mean()),
                instructions_between=_between(trace, mine),
            )
        )
    return sorted(found, key=lambda one: -one.misses)


def _missing_parents(trace: Trace, missing: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return, for each access, the newest missing load that its address comes from; -1: none."""
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


def _between(trace: Trace, mine: NDArray[np.bool_]) -> float:
    gaps: list[float] = []
    for begin, end in zip(trace.starts, trace.starts[1:], strict=False):
        gaps.extend(np.diff(trace.at[begin:end][mine[begin:end]]).tolist())
    return float(np.mean(gaps)) if gaps else float(trace.instructions)


def _by_values(
    trace: Trace, missing: NDArray[np.bool_], values: list[Records]
) -> NDArray[np.bool_]:
    """Tell which missing accesses lie a little above one of the last pointers loaded."""
    dependent = np.zeros(len(missing), dtype=bool)
    for begin, accesses in zip(trace.starts, values, strict=False):
        recent: deque[int] = deque(maxlen=POINTERS)
        for at, (address, value) in enumerate(
            zip(accesses["address"].tolist(), accesses["value"].tolist(), strict=True), begin
        ):
            if missing[at]:
                dependent[at] = any(0 <= address - one < ABOVE_BYTES for one in recent)
            if value >= LEAST_POINTER:
                recent.append(value)
    return dependent


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

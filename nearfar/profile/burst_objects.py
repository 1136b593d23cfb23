"""What bursts say of each object: how many of its misses wait for another, and how far apart."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from nearfar.documents.bursts import Bursts, ObjectBursts
from nearfar.profile.burst_trace import Trace
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

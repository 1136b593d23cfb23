"""libpmemobj's own check of a pool: the part of pmempool check that is in the library."""

from __future__ import annotations

import ctypes.util
import shlex

from nearfar.crash.checker import Check
from nearfar.crash.trace import CrashTrace, EventKind
from nearfar.native_files import native_file

TOOL = "nearfar_crash_pool"


def pool_checks(trace: CrashTrace) -> list[Check]:
    """Return libpmemobj's check if the pool is a libpmemobj pool that existed before the run.

    A pool that the run creates is not valid all the time: only the user's checker can judge it.
    """
    kinds = (EventKind.POOL_OPEN, EventKind.POOL_CREATE)
    if not any(event.kind in kinds and not event.c for event in trace.events):
        return []
    if any(event.kind is EventKind.POOL_CREATE and not event.c for event in trace.events):
        return []
    if ctypes.util.find_library("pmemobj") is None:
        return []
    return [Check(f"{shlex.quote(str(native_file(TOOL)))} check {{pool}}", few_states=True)]

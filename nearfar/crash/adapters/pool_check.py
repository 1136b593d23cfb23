"""Whether libpmemobj finds a pool consistent: the part of pmempool check that is the library's."""

from __future__ import annotations

import ctypes.util
import shlex

from nearfar.crash.checker import Check
from nearfar.crash.layout import Kind
from nearfar.crash.trace import Trace
from nearfar.native_files import native_file

TOOL = "nearfar_crash_pool"


def pool_checks(trace: Trace) -> list[Check]:
    """Return the check of libpmemobj's pools if the trace's pool is one that was there already.

    A pool that is being made is none until it is made: that is the user's checker's to judge.
    """
    kinds = (Kind.POOL_OPEN, Kind.POOL_CREATE)
    if not any(event.kind in kinds and not event.c for event in trace.events):
        return []
    if any(event.kind is Kind.POOL_CREATE and not event.c for event in trace.events):
        return []
    if ctypes.util.find_library("pmemobj") is None:
        return []
    return [Check(f"{shlex.quote(str(native_file(TOOL)))} check {{pool}}", rarely=True)]

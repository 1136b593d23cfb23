"""The trace as native/crash/trace.h lays it out."""

from __future__ import annotations

import struct
from enum import IntEnum
from pathlib import Path

MAGIC = b"nfcrash2"
TRACE_VARIABLE = "NEARFAR_CRASH_TRACE"
SHADOW = ".shadow"
"""Behind a trace's path: the pool as it was last told, shared by all processes that map it."""
POOL_VARIABLE = "NEARFAR_CRASH_POOL"
HEADER_BYTES = 4096

HEADER = struct.Struct("<8s5Q8IQ5I4x")
"""magic, limit, most_pool, most_steps, used, steps, owner, full, forked, others, outside,
threads, copied, stolen, schedule, written, children, locked, met, coarse."""
RECORD = struct.Struct("<HHIQQII")
"""kind, frames, bytes, a, b, thread, c."""


class Kind(IntEnum):
    """enum nf_crash_kind."""

    MODULE = 1
    MAP = 2
    UNMAP = 3
    BASE = 4
    STORE = 5
    FLUSH = 6
    FENCE = 7
    BEGIN = 8
    END = 9
    SIZE = 10
    STREAM = 11
    TX_BEGIN = 12
    TX_COMMIT = 13
    TX_ABORT = 14
    TX_END = 15
    TX_SNAPSHOT = 16
    TX_ALLOC = 17
    TX_FREE = 18
    ALLOC = 19
    FREE = 20
    POOL_CREATE = 21
    POOL_OPEN = 22
    POOL_CLOSE = 23
    ROOT = 24
    RESERVE = 25
    OPERATION = 26
    OUTCOME = 27
    POINTER = 28
    WALK = 29
    TOUCH = 30


def make_trace(
    path: Path, *, limit_bytes: int, most_pool_bytes: int, most_steps: int, schedule: int = 0
) -> None:
    """Make an empty trace: a sparse file that takes room as it fills."""
    header = HEADER.pack(
        *(MAGIC, limit_bytes, most_pool_bytes, most_steps, HEADER_BYTES, 0),
        *(0, 0, 0, 0, 0, 0, 0, 0),
        *(schedule, 0, 0, 0, 0, 0),
    )
    with path.open("wb") as file:
        file.write(header)
        file.truncate(limit_bytes)

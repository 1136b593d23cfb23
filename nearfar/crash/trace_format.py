"""Layout of a trace file, as in native/crash/trace.h."""

from __future__ import annotations

import struct
from enum import IntEnum
from pathlib import Path

MAGIC = b"nfcrash2"
TRACE_VARIABLE = "NEARFAR_CRASH_TRACE"
SHADOW = ".shadow"
"""Suffix of the file next to a trace with the last recorded content of the pool."""
POOL_VARIABLE = "NEARFAR_CRASH_POOL"
HEADER_BYTES = 4096

HEADER = struct.Struct("<8s5Q8IQ5I4x")
"""magic, limit, most_pool, most_steps, used, steps, owner, full, forked, others, outside,
threads, copied, stolen, schedule, written, children, locked, met, coarse."""
RECORD = struct.Struct("<HHIQQII")
"""kind, frames, bytes, a, b, thread, c."""


class EventKind(IntEnum):
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
    path: Path, *, limit_bytes: int, max_pool_bytes: int, max_steps: int, schedule: int = 0
) -> None:
    """Make an empty trace, a sparse file."""
    header = HEADER.pack(
        *(MAGIC, limit_bytes, max_pool_bytes, max_steps, HEADER_BYTES, 0),
        *(0, 0, 0, 0, 0, 0, 0, 0),
        *(schedule, 0, 0, 0, 0, 0),
    )
    with path.open("wb") as file:
        file.write(header)
        file.truncate(limit_bytes)

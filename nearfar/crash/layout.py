"""The trace as native/crash/trace.h lays it out."""

from __future__ import annotations

import struct
from enum import IntEnum
from pathlib import Path

MAGIC = b"nfcrash1"
TRACE_VARIABLE = "NEARFAR_CRASH_TRACE"
POOL_VARIABLE = "NEARFAR_CRASH_POOL"
HEADER_BYTES = 4096
LINE_BYTES = 64
PAGE_BYTES = 4096

HEADER = struct.Struct("<8s5Q7I4x")
"""magic, limit, most_pool, most_steps, used, steps, owner, full, forked, others, outside,
threads, copied."""
RECORD = struct.Struct("<HHIQQ")
"""kind, frames, bytes, a, b."""


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


def make_trace(path: Path, *, limit_bytes: int, most_pool_bytes: int, most_steps: int) -> None:
    """Make an empty trace: a sparse file that takes room as it fills."""
    header = HEADER.pack(
        MAGIC, limit_bytes, most_pool_bytes, most_steps, HEADER_BYTES, 0, 0, 0, 0, 0, 0, 0, 0
    )
    with path.open("wb") as file:
        file.write(header)
        file.truncate(limit_bytes)

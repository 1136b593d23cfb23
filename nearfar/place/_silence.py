"""Keeping native code's chatter off standard output, which is ours (`--json`)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def native_stdout_silenced() -> Iterator[None]:
    """Send what native code prints in the block to nowhere.

    HiGHS prints a line of debugging for some solutions whatever its options say. The C library
    buffers apart from Python, so both are flushed on both sides.
    """
    c_library = ctypes.CDLL(None)
    sys.stdout.flush()
    c_library.fflush(None)
    try:
        kept = os.dup(1)
    except OSError:
        # Standard output is closed: nothing can be printed.
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        c_library.fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)

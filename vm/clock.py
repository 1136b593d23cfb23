"""How fast this machine's time-stamp counter runs, which the guest's kernel need not find out.

The guest's counter is the host's. Its kernel times it against an emulated timer as it starts;
where others use the host's CPUs that goes wrong by any factor, and the guest's seconds with it.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import time
from collections.abc import Callable

READ_COUNTER = bytes.fromhex("0f31 48c1e220 4809d0 c3".replace(" ", ""))
"""rdtsc; shl rdx, 32; or rax, rdx; ret"""
BETWEEN_S = 0.3
CLOSE_NS = 5_000
"""Clock and counter are read within so long of each other: 5 us of 0.3 s are 2 in 100,000."""


def counter_khz() -> int | None:
    """Return the counter's rate in kHz; None where it cannot be read."""
    if platform.machine() != "x86_64":
        return None
    try:
        code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return None  # Some systems allow no memory that is both written and run.
    code.write(READ_COUNTER)
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    counter = ctypes.CFUNCTYPE(ctypes.c_uint64)(address)
    first = _together(counter)
    time.sleep(BETWEEN_S)
    last = _together(counter)
    return round((last[1] - first[1]) / (last[0] - first[0]) * 1e6)


def _together(counter: Callable[[], int]) -> tuple[int, int]:
    """Return clock (ns) and counter of one moment."""
    while True:
        before = time.monotonic_ns()
        ticks = counter()
        after = time.monotonic_ns()
        if after - before < CLOSE_NS:
            return before, ticks

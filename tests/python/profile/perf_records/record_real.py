"""Records a real ring of page faults, with the library under test's own way to open it:
`python record_real.py > real-page-faults.bin`."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import struct
import sys

from nearfar.profile.sources import perf_events
from nearfar.profile.sources.pmu import SOFTWARE, CounterEvent

PAGES = 64
FAULTS = CounterEvent("page-faults", SOFTWARE, 2, period=1, is_rate=False, has_source=False)
RECORDS, RECORD_BYTES = 64, 48
"""Header, IP, TID, TIME, ADDR, PERIOD."""
ENABLE = 0x2400
"""PERF_EVENT_IOC_ENABLE."""


def main() -> None:
    """Fault, and write what the kernel wrote."""
    wanted = perf_events.PerfEvent.of(FAULTS, sampled=True)
    (cpu, *_) = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    file = perf_events._library().nf_perf_open(ctypes.byref(wanted), cpu)
    ring = mmap.mmap(file, (1 + PAGES) * mmap.PAGESIZE)
    fresh = mmap.mmap(-1, (RECORDS + 8) * mmap.PAGESIZE)
    fcntl.ioctl(file, ENABLE)
    for page in range(RECORDS + 8):
        fresh[page * mmap.PAGESIZE] = 1
    # data_head of struct perf_event_mmap_page is at 1024.
    (head,) = struct.unpack_from("<Q", ring, 1024)
    assert head >= RECORDS * RECORD_BYTES
    sys.stdout.buffer.write(ring[mmap.PAGESIZE :][: RECORDS * RECORD_BYTES])


main()

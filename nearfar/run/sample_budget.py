"""The budget for sampling accessed bits: a small share of the program's CPU time.

Once a page's accessed bit is cleared, the processor sets it again at the next page walk. The
program pays for this, most of all in virtual machines, and no counter of this process shows it.
So the cost per page is measured once. Each sample is charged with this cost for every present page,
plus the time of this process. The next sample waits until the program has run long enough for the
sum of all charges to stay within the share.
"""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearfar.run import layout
from nearfar.run.server import PlacedProcess

MAX_CPU_SHARE = 0.01
"""Share of the program's CPU time for sampling: --adapt may cost 2 %, and moving needs some."""
MADV_COLD = 20
"""Advice that clears the accessed bits of a range (asm-generic/mman-common.h, Linux 5.4)."""
UNKNOWN_BIT_NS = 1000.0
"""Assumed ns per accessed bit where it cannot be measured: several times the measured values."""
_PAGES = 1 << 14
"""Pages of the measurement, 64 MiB: beyond second-level TLBs, so that every access is a walk."""


class SampleBudget:
    """The time spent on samples, compared with the program's CPU time."""

    def __init__(
        self, bit_ns: float | None = None, cpu_ns: Callable[[int], int] | None = None
    ) -> None:
        self.spent_ns = 0.0
        self._bit_ns = accessed_bit_ns() if bit_ns is None else bit_ns
        self._own_ns = self._bit_ns
        """Time of this process per page, ns, in the last sample."""
        self._small_pages = 0
        """Small pages present before the sample under way."""
        self._bits_per_page = 1.0
        """Accessed bits per small page in the last sample: a huge page of 512 has a single bit."""
        self._cpu_ns = cpu_ns or process_cpu_ns
        self._used: dict[int, int] = {}

    def affords(self, processes: Mapping[int, PlacedProcess]) -> bool:
        """Return whether the programs have run long enough for one more sample."""
        if not processes:
            return False
        for pid in processes:
            # Keep the time of an ended process; a new one with its pid counts once it exceeds that.
            self._used[pid] = max(self._used.get(pid, 0), self._cpu_ns(pid))
        self._small_pages = sum(resident_pages(pid) for pid in processes)
        price = self._small_pages * self._bits_per_page * (self._bit_ns + self._own_ns)
        return self.spent_ns + price <= MAX_CPU_SHARE * sum(self._used.values())

    def charge(self, pages: int, own_ns: int) -> None:
        """Add a sample of this many pages, small or huge, that took this process `own_ns`."""
        self.spent_ns += pages * self._bit_ns + own_ns
        if pages:
            self._own_ns = own_ns / pages
        if pages and self._small_pages:
            self._bits_per_page = min(1.0, pages / self._small_pages)


def process_cpu_ns(pid: int) -> int:
    """Return the CPU time of a process and all its threads, ns; 0 if it has ended."""
    try:
        # The CPU clock of another process: CPUCLOCK_SCHED of linux/posix-timers.h.
        return time.clock_gettime_ns((~pid << 3) | 2)
    except OSError:
        return 0


def resident_pages(pid: int) -> int:
    """Return how many small pages of a process are present; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0


def accessed_bit_ns() -> float:
    """Measure the time that this processor needs to set one page's accessed bit again, ns.

    The result is the largest of three tries, which differ by a factor of six: the program pays for
    an underestimate.
    """
    pages = mmap.mmap(-1, _PAGES * layout.PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages.madvise(mmap.MADV_NOHUGEPAGE)
    # One line of each page, in random order, so that no prefetcher predicts the walks.
    random = np.random.default_rng(1)
    lines = random.permutation(_PAGES) * layout.PAGE + random.integers(0, 64, _PAGES) * 64
    with_bits, without_bits = [], []
    try:
        # The first accesses make the pages present.
        _access_ns(pages, lines)
        for _ in range(3):
            with_bits.append(_access_ns(pages, lines))
            pages.madvise(MADV_COLD)
            without_bits.append(_access_ns(pages, lines))
    except OSError:
        return UNKNOWN_BIT_NS
    finally:
        pages.close()
    longer_ns = (after - before for before, after in zip(with_bits, without_bits, strict=True))
    return max(0.0, *longer_ns) / _PAGES


def _access_ns(pages: mmap.mmap, lines: NDArray[np.int64]) -> int:
    content = np.frombuffer(pages, np.uint8)
    begun = time.thread_time_ns()
    content[lines] = 1
    return time.thread_time_ns() - begun

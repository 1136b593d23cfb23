"""What it may cost a program to be looked at: a small share of its own CPU time, never more.

Where the accessed bits of pages are cleared, the processor has to set them again at the next walk
to each page, and not for nothing, least in virtual machines. That is the program's
time, though nothing of it shows in ours. So it is measured once, and every look is charged with
it for each page that is there, beside our own time; the next look waits until the program has
worked long enough for the sum to be nothing.
"""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.run import layout

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nearfar.run.server import Process

SHARE = 0.01
"""Of the program's CPU time. --adapt may cost 2 %, of which moving needs some too."""
MADV_COLD = 20
"""asm-generic/mman-common.h: clears the accessed bits of a range of one's own, Linux 5.4."""
UNKNOWN_MARK_NS = 1000.0
"""Where it cannot be measured: several times what was seen."""
_PAGES = 1 << 14
"""64 MiB: beyond what second-level TLBs hold, so that every touch is a walk."""


class Looking:
    """How much looking a run can still pay for."""

    def __init__(
        self, mark_ns: float | None = None, cpu_ns: Callable[[int], int] | None = None
    ) -> None:
        self.spent_ns = 0.0
        self._mark_ns = marking_ns() if mark_ns is None else mark_ns
        self._own_ns = self._mark_ns
        """Ours for a page, as the last look had it."""
        self._small = 0
        """Small pages that were there before the look under way."""
        self._bits = 1.0
        """Of a small page, at the last look: a huge one has one for all of its 512."""
        self._cpu_ns = cpu_ns or process_cpu_ns
        self._used: dict[int, int] = {}

    def affords(self, processes: Mapping[int, Process]) -> bool:
        """Tell whether the programs have worked enough for one more look."""
        if not processes:
            return False
        for pid in processes:
            # A process that ended has had its time; a number that is given anew begins again.
            self._used[pid] = max(self._used.get(pid, 0), self._cpu_ns(pid))
        self._small = sum(resident_pages(pid) for pid in processes)
        price = self._small * self._bits * (self._mark_ns + self._own_ns)
        return self.spent_ns + price <= SHARE * sum(self._used.values())

    def charge(self, pages: int, own_ns: int) -> None:
        """Write down a look at so many pages, large or small, that took us so long."""
        self.spent_ns += pages * self._mark_ns + own_ns
        if pages:
            self._own_ns = own_ns / pages
        if pages and self._small:
            self._bits = min(1.0, pages / self._small)


def process_cpu_ns(pid: int) -> int:
    """Return the CPU time that a process has used; 0 if it is gone."""
    try:
        # The clock of another process, all its threads: CPUCLOCK_SCHED of linux/posix-timers.h.
        return time.clock_gettime_ns((~pid << 3) | 2)
    except OSError:
        return 0


def resident_pages(pid: int) -> int:
    """Return how many small pages of a process are there; 0 if it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0


def marking_ns() -> float:
    """Measure what it takes the processor here to set one page's accessed bit again.

    The most of a few tries: they lie as far apart as 50 and 290 ns, and what is thought too little
    the program pays.
    """
    import numpy as np

    held = mmap.mmap(-1, _PAGES * layout.PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    held.madvise(mmap.MADV_NOHUGEPAGE)
    # A line of each page, pages in no order: nothing foresees the walks.
    random = np.random.default_rng(1)
    touched = random.permutation(_PAGES) * layout.PAGE + random.integers(0, 64, _PAGES) * 64
    marked, cleared = [], []
    try:
        # The first touches make the pages.
        _touch_ns(held, touched)
        for _ in range(3):
            marked.append(_touch_ns(held, touched))
            held.madvise(MADV_COLD)
            cleared.append(_touch_ns(held, touched))
    except OSError:
        return UNKNOWN_MARK_NS
    finally:
        held.close()
    longer_ns = (after - before for before, after in zip(marked, cleared, strict=True))
    return max(0.0, *longer_ns) / _PAGES


def _touch_ns(held: mmap.mmap, touched: NDArray[np.int64]) -> int:
    import numpy as np

    lines = np.frombuffer(held, np.uint8)
    begun = time.thread_time_ns()
    lines[touched] = 1
    return time.thread_time_ns() - begun

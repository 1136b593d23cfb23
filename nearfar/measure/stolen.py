"""Whether a hypervisor took CPU time since the last look, and so much that it matters."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from nearfar.machine.sysfs import Tree
from nearfar.machine.virtualisation import read_virtualisation

STEAL_FIELD = 8
"""Of a CPU's line of /proc/stat (proc(5))."""

MATTERS = 0.02
"""Share of a CPU's time that must be stolen: the CPU clock may count it as the thread's own, and
latencies are held to 3 %. A tick of 10 ms in a sample of 20 ms is far more."""


class StolenTime:
    """Watches some CPUs in /proc/stat; on machines that are not virtual, where it is slow, not."""

    def __init__(
        self,
        cpus: Sequence[int],
        root: Path = Path("/"),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stat = root / "proc/stat"
        self._names = {f"cpu{cpu}" for cpu in cpus}
        # The kernel says "none" of real machines; what it cannot tell may be virtual.
        self._watched = read_virtualisation(Tree(root)) != "none"
        self._clock = clock
        self._tick_s = 1 / os.sysconf("SC_CLK_TCK")
        self._last = self._read()
        self._at = clock()

    def matters(self) -> bool:
        """Say whether one of the CPUs lost so much since the last call that times are off."""
        now, at = self._read(), self._clock()
        most = max((ticks - self._last.get(cpu, ticks) for cpu, ticks in now.items()), default=0)
        passed = at - self._at
        self._last, self._at = now, at
        return most > 0 and most * self._tick_s > MATTERS * passed

    def _read(self) -> dict[str, int]:
        """Return ticks stolen by CPU; nothing of those that the kernel does not tell of."""
        found: dict[str, int] = {}
        if not self._watched:
            return found
        try:
            with self._stat.open() as stat:
                for line in stat:
                    if not line.startswith("cpu"):
                        break
                    fields = line.split()
                    if fields[0] in self._names:
                        found[fields[0]] = int(fields[STEAL_FIELD])
        except (OSError, ValueError, IndexError):
            return {}
        return found

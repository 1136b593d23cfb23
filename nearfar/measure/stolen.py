"""Whether a hypervisor took CPU time since the last look."""

from __future__ import annotations

from pathlib import Path

from nearfar.machine.sysfs import Tree
from nearfar.machine.virtualisation import read_virtualisation

STEAL_FIELD = 8
"""Of the first line of /proc/stat (proc(5)), in ticks of 10 ms, over all CPUs."""


class StolenTime:
    """Watches /proc/stat; on machines that are not virtual, where reading it may be slow, not."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._stat = root / "proc/stat"
        # The kernel says "none" of real machines; what it cannot tell may be virtual.
        self._watched = read_virtualisation(Tree(root)) != "none"
        self._last = self._read()

    def grew(self) -> bool:
        """Say whether any CPU lost time to the hypervisor since the last call."""
        now = self._read()
        grew, self._last = now > self._last, now
        return grew

    def _read(self) -> int:
        if not self._watched:
            return 0
        try:
            with self._stat.open() as stat:
                return int(stat.readline().split()[STEAL_FIELD])
        except (OSError, ValueError, IndexError):
            return 0

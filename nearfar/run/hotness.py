"""Which objects are used now, from the kernel's referenced bits, and what should change places.

Every interval the bits of all pages are cleared (/proc/PID/clear_refs) and, an interval later,
counted (/proc/PID/smaps). An object's heat is the share of its pages that were used. Objects change
places if one in far memory was hotter than one near by `MARGIN`, for the hysteresis, and there
is room.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.documents.plan import Plan
from nearfar.run import layout
from nearfar.run.targets import Targets

if TYPE_CHECKING:
    from nearfar.run.server import Process

MARGIN = 0.25
"""Of all its pages, so many more must be used: heat is counted in intervals, which differ."""
INTERVAL_NS = 500_000_000
"""Clearing the bits makes the processor look up each page again: twice a second is little."""

_RANGE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ", re.ASCII)


@dataclass
class Use:
    """What one target had in the last interval."""

    there: int = 0
    referenced: int = 0

    @property
    def heat(self) -> float:
        """Return the share of its pages that were used."""
        return self.referenced / self.there if self.there else 0.0


def target_at(address: int) -> int:
    """Return the target whose block is at `address`; 0 for near and what is not ours."""
    if not layout.FIRST_ADDRESS <= address < layout.END_ADDRESS:
        return 0
    slot = (address - layout.FIRST_ADDRESS) >> layout.SLOT_BITS
    return 0 if slot < layout.NEAR_SLOTS else slot - layout.NEAR_SLOTS + 1


def uses(smaps: str) -> dict[int, Use]:
    """Return what /proc/PID/smaps says of each target's pages."""
    found: dict[int, Use] = {}
    use = Use()
    for line in smaps.splitlines():
        if match := _RANGE.match(line):
            use = found.setdefault(target_at(int(match[1], 16)), Use())
        elif line.startswith("Rss:"):
            use.there += int(line.split()[1]) << 10
        elif line.startswith("Referenced:"):
            use.referenced += int(line.split()[1]) << 10
    return found


class Hotness:
    """Where the objects that may move are, and which should change."""

    def __init__(self, plan: Plan, targets: Targets) -> None:
        self._budget = plan.budget_bytes
        self._where = {
            target: targets.shapes[target][1][0][0] for target in targets.moving.values()
        }
        self._looked_ns = 0
        self._wish: tuple[int, int] | None = None
        self._since_ns = 0

    def changes(
        self, processes: dict[int, Process], now_ns: int, hysteresis_ns: int
    ) -> Iterator[tuple[int, int, str]]:
        """Yield (target, memory, why) of what is to move now."""
        if now_ns - self._looked_ns < INTERVAL_NS:
            return
        first = self._looked_ns == 0
        self._looked_ns = now_ns
        total: dict[int, Use] = {}
        for process in processes.values():
            folder = Path(f"/proc/{process.pid}")
            try:
                text = "" if first else (folder / "smaps").read_text()
                (folder / "clear_refs").write_text("1")
            except OSError:
                continue
            for target, use in uses(text).items():
                one = total.setdefault(target, Use())
                one.there += use.there
                one.referenced += use.referenced
        if not first:
            yield from self.decide(total, now_ns, hysteresis_ns)

    def decide(
        self, total: dict[int, Use], now_ns: int, hysteresis_ns: int
    ) -> Iterator[tuple[int, int, str]]:
        """Yield what is to move, for what was used in the last interval."""
        far = [t for t, memory in self._where.items() if memory != 0 and total.get(t, Use()).there]
        near = [t for t, memory in self._where.items() if memory == 0]
        if not far:
            return
        hottest = max(far, key=lambda t: total[t].heat)
        heat = total[hottest].heat
        used = sum(total.get(t, Use()).there for t in near)
        room = self._budget - used
        coldest = min(near, key=lambda t: total.get(t, Use()).heat, default=None)
        leaves: int | None = None
        if total[hottest].there > room:
            if coldest is None or heat < total.get(coldest, Use()).heat + MARGIN:
                self._wish = None
                return
            if total[hottest].there > room + total.get(coldest, Use()).there:
                self._wish = None
                return
            leaves = coldest
        elif heat < MARGIN:
            self._wish = None
            return
        wish = (hottest, -1 if leaves is None else leaves)
        if wish != self._wish:
            self._wish, self._since_ns = wish, now_ns
        if now_ns - self._since_ns < hysteresis_ns:
            return
        self._wish = None
        if leaves is not None:
            self._where[leaves] = self._where[hottest]
            yield leaves, self._where[hottest], f"{total.get(leaves, Use()).heat:.0%} of it is used"
        self._where[hottest] = 0
        yield hottest, 0, f"{heat:.0%} of it is used"

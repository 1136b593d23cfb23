"""Which objects are used now, from the kernel's referenced bits, and what should change places.

A look clears the bits of all pages (/proc/PID/clear_refs) and, an interval later, counts them
(/proc/PID/smaps). An object's heat is the share of its pages that were used. Objects change places
if one in far memory was hotter than one near by `MARGIN`, for the hysteresis, and there is room.
Looks are paid for from a small share of the program's time (`looking`), and become rare while
nothing is to change; an object that goes back where it came from must wait twice as long each time.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.documents.plan import Plan
from nearfar.run import layout
from nearfar.run.looking import Looking
from nearfar.run.targets import Targets

if TYPE_CHECKING:
    from nearfar.run.server import Process

MARGIN = 0.25
"""Of all its pages, so many more must be used: heat is counted in intervals, which differ."""
INTERVAL_NS = 500_000_000
"""From clearing to counting: long enough for what is used to show in most of its pages."""
MOST_REST_NS = 16 * INTERVAL_NS
"""Between looks, where nothing has been to change for long: use that lasts will be seen still."""

_HUGE_BYTES = 2 << 20
_MOST_DOUBLED = 16
"""Times; by then no run is long enough."""
_RANGE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ", re.ASCII)


Wish = tuple[int, int | None]
"""The target that comes near, and the one that leaves for it."""


@dataclass
class Use:
    """What one target had in the last interval."""

    there: int = 0
    referenced: int = 0
    huge: int = 0
    """In huge pages, each of which has one bit."""

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
        elif line.startswith("AnonHugePages:"):
            use.huge += int(line.split()[1]) << 10
    return found


class Hotness:
    """Where the objects that may move are, and which should change."""

    def __init__(self, plan: Plan, targets: Targets, looking: Looking | None = None) -> None:
        self._budget = plan.budget_bytes
        self._where = {
            target: targets.shapes[target][1][0][0] for target in targets.moving.values()
        }
        self._looking = looking or Looking()
        self._cleared_ns: int | None = None
        """When the look that is under way began."""
        self._clearing_ns = 0
        self._next_ns = 0
        self._rest_ns = 0
        self._wish: Wish | None = None
        self._since_ns = 0
        self._moves: dict[int, int] = {}
        """How often each target has moved."""

    def changes(
        self, processes: dict[int, Process], now_ns: int, hysteresis_ns: int
    ) -> Iterator[tuple[int, int, str]]:
        """Yield (target, memory, why) of what is to move now."""
        if self._cleared_ns is None:
            if now_ns >= self._next_ns and self._looking.affords(processes):
                self._clear(processes)
                self._cleared_ns = now_ns
        elif now_ns - self._cleared_ns >= INTERVAL_NS:
            self._cleared_ns = None
            yield from self.decide(self._count(processes), now_ns, hysteresis_ns)
            if self._wish is not None:
                self._rest_ns = 0
            else:
                self._rest_ns = min(max(2 * self._rest_ns, INTERVAL_NS), MOST_REST_NS)
            self._next_ns = now_ns + self._rest_ns

    def _clear(self, processes: dict[int, Process]) -> None:
        begun = time.thread_time_ns()
        for pid in processes:
            with contextlib.suppress(OSError):
                Path(f"/proc/{pid}/clear_refs").write_text("1")
        self._clearing_ns = time.thread_time_ns() - begun

    def _count(self, processes: dict[int, Process]) -> dict[int, Use]:
        begun = time.thread_time_ns()
        total: dict[int, Use] = {}
        for pid in processes:
            try:
                text = Path(f"/proc/{pid}/smaps").read_text(errors="replace")
            except OSError:
                continue
            for target, use in uses(text).items():
                one = total.setdefault(target, Use())
                one.there += use.there
                one.referenced += use.referenced
                one.huge += use.huge
        small = sum(use.there - use.huge for use in total.values()) // layout.PAGE
        large = sum(use.huge for use in total.values()) // _HUGE_BYTES
        counting_ns = time.thread_time_ns() - begun
        self._looking.charge(small + large, self._clearing_ns + counting_ns)
        return total

    def decide(
        self, total: dict[int, Use], now_ns: int, hysteresis_ns: int
    ) -> Iterator[tuple[int, int, str]]:
        """Yield what is to move, for what was used in the last interval."""
        heat = {t: total.get(t, Use()).heat for t in self._where}
        wish = self._wanted(total, heat)
        if wish is None:
            self._wish = None
            return
        if wish != self._wish:
            self._wish, self._since_ns = wish, now_ns
        comes, leaves = wish
        changing = [comes] if leaves is None else [leaves, comes]
        moved = max(self._moves.get(target, 0) for target in changing)
        if now_ns - self._since_ns < hysteresis_ns << min(moved, _MOST_DOUBLED):
            return
        self._wish = None
        for target in changing:
            self._moves[target] = self._moves.get(target, 0) + 1
        if leaves is not None:
            self._where[leaves] = self._where[comes]
            yield leaves, self._where[comes], f"{heat[leaves]:.0%} of it is used"
        self._where[comes] = 0
        yield comes, 0, f"{heat[comes]:.0%} of it is used"

    def _wanted(self, total: dict[int, Use], heat: dict[int, float]) -> Wish | None:
        """Return what should change places; None: nothing.

        What was wished before stays the wish as long as it would do: of objects that are about as
        hot, one is a little hotter in one interval and another in the next.
        """
        far = [t for t, memory in self._where.items() if memory != 0 and t in total]
        near = [t for t, memory in self._where.items() if memory == 0]
        room = self._budget - sum(total[t].there for t in near if t in total)

        def does(wish: Wish) -> bool:
            comes, leaves = wish
            size = total[comes].there if comes in far else 0
            if leaves is None:
                return 0 < size <= room and heat[comes] >= MARGIN
            left = total.get(leaves, Use()).there
            fits = leaves in near and room < size <= room + left
            return fits and heat[comes] >= heat[leaves] + MARGIN

        if self._wish is not None and does(self._wish):
            return self._wish
        hottest = max(far, key=heat.__getitem__, default=None)
        coldest = min(near, key=heat.__getitem__, default=None)
        if hottest is None:
            return None
        wish = (hottest, None if total[hottest].there <= room else coldest)
        return wish if does(wish) else None

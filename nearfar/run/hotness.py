"""Hotness of objects, from the kernel's referenced bits, and the swaps that follow from it.

A sample clears the bits of all pages (/proc/PID/clear_refs) and counts them one interval later
(/proc/PID/smaps). An object's heat is the share of its pages that were used. Two objects swap if
the far one was hotter than the near one by `MIN_HEAT_MARGIN` for the hysteresis, and there is
space. Samples cost at most a small share of the program's time (`sample_budget`), and become rare
while nothing changes. An object that moves back has to wait twice as long each time.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nearfar.documents.plan import Plan
from nearfar.run import layout
from nearfar.run.sample_budget import SampleBudget
from nearfar.run.server import PlacedProcess
from nearfar.run.targets import Targets

MIN_HEAT_MARGIN = 0.25
"""Difference of heat, as a share of pages, for a swap: heat differs between intervals."""
INTERVAL_NS = 500_000_000
"""Time from clearing to counting: most pages of an object in use are accessed in it."""
MAX_PAUSE_NS = 16 * INTERVAL_NS
"""Longest pause between samples where nothing changes: lasting use still shows."""

_HUGE_BYTES = 2 << 20
_MAX_DOUBLINGS = 16
"""Most doublings of the hysteresis: no run is longer."""
_RANGE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ", re.ASCII)


Swap = tuple[int, int | None]
"""The target that comes near, and the one that leaves for it, if any."""


@dataclass
class TargetUse:
    """Bytes of one target's pages in the last interval."""

    present: int = 0
    referenced: int = 0
    huge: int = 0
    """Bytes in huge pages, each of which has one accessed bit."""

    @property
    def heat(self) -> float:
        """Share of the pages that were used."""
        return self.referenced / self.present if self.present else 0.0


def target_at(address: int) -> int:
    """Return the target of the block at `address`; 0 for near and for other allocators."""
    if not layout.FIRST_ADDRESS <= address < layout.END_ADDRESS:
        return 0
    slot = (address - layout.FIRST_ADDRESS) >> layout.SLOT_BITS
    return 0 if slot < layout.NEAR_SLOTS else slot - layout.NEAR_SLOTS + 1


def uses(smaps: str) -> dict[int, TargetUse]:
    """Return the use of each target's pages from /proc/PID/smaps."""
    targets: dict[int, TargetUse] = {}
    use = TargetUse()
    for line in smaps.splitlines():
        if match := _RANGE.match(line):
            use = targets.setdefault(target_at(int(match[1], 16)), TargetUse())
        elif line.startswith("Rss:"):
            use.present += int(line.split()[1]) << 10
        elif line.startswith("Referenced:"):
            use.referenced += int(line.split()[1]) << 10
        elif line.startswith("AnonHugePages:"):
            use.huge += int(line.split()[1]) << 10
    return targets


class Hotness:
    """The memories of objects that may move, and the swaps that they should make."""

    def __init__(self, plan: Plan, targets: Targets, samples: SampleBudget | None = None) -> None:
        self._budget = plan.budget_bytes
        self._memory_of = {
            target: targets.shapes[target][1][0][0] for target in targets.moving.values()
        }
        self._samples = samples or SampleBudget()
        self._cleared_ns: int | None = None
        """When the sample under way began."""
        self._clearing_ns = 0
        self._next_ns = 0
        self._pause_ns = 0
        self._swap: Swap | None = None
        self._since_ns = 0
        self._moves: dict[int, int] = {}
        """Number of moves of each target."""

    def changes(
        self, processes: dict[int, PlacedProcess], now_ns: int, hysteresis_ns: int
    ) -> Iterator[tuple[int, int, str]]:
        """Yield (target, memory, reason) of each move to make now."""
        if self._cleared_ns is None:
            if now_ns >= self._next_ns and self._samples.affords(processes):
                self._clear(processes)
                self._cleared_ns = now_ns
        elif now_ns - self._cleared_ns >= INTERVAL_NS:
            self._cleared_ns = None
            yield from self.decide(self._count(processes), now_ns, hysteresis_ns)
            if self._swap is not None:
                self._pause_ns = 0
            else:
                self._pause_ns = min(max(2 * self._pause_ns, INTERVAL_NS), MAX_PAUSE_NS)
            self._next_ns = now_ns + self._pause_ns

    def _clear(self, processes: dict[int, PlacedProcess]) -> None:
        begun = time.thread_time_ns()
        for pid in processes:
            with contextlib.suppress(OSError):
                Path(f"/proc/{pid}/clear_refs").write_text("1")
        self._clearing_ns = time.thread_time_ns() - begun

    def _count(self, processes: dict[int, PlacedProcess]) -> dict[int, TargetUse]:
        begun = time.thread_time_ns()
        total: dict[int, TargetUse] = {}
        for pid in processes:
            try:
                text = Path(f"/proc/{pid}/smaps").read_text(errors="replace")
            except OSError:
                continue
            for target, use in uses(text).items():
                target_use = total.setdefault(target, TargetUse())
                target_use.present += use.present
                target_use.referenced += use.referenced
                target_use.huge += use.huge
        small = sum(use.present - use.huge for use in total.values()) // layout.PAGE
        large = sum(use.huge for use in total.values()) // _HUGE_BYTES
        counting_ns = time.thread_time_ns() - begun
        self._samples.charge(small + large, self._clearing_ns + counting_ns)
        return total

    def decide(
        self, total: dict[int, TargetUse], now_ns: int, hysteresis_ns: int
    ) -> Iterator[tuple[int, int, str]]:
        """Yield the moves that follow from the use in the last interval."""
        heat = {t: total.get(t, TargetUse()).heat for t in self._memory_of}
        swap = self._best_swap(total, heat)
        if swap is None:
            self._swap = None
            return
        if swap != self._swap:
            self._swap, self._since_ns = swap, now_ns
        comes, leaves = swap
        changing = [comes] if leaves is None else [leaves, comes]
        moved = max(self._moves.get(target, 0) for target in changing)
        if now_ns - self._since_ns < hysteresis_ns << min(moved, _MAX_DOUBLINGS):
            return
        self._swap = None
        for target in changing:
            self._moves[target] = self._moves.get(target, 0) + 1
        if leaves is not None:
            self._memory_of[leaves] = self._memory_of[comes]
            yield leaves, self._memory_of[comes], f"{heat[leaves]:.0%} of it is used"
        self._memory_of[comes] = 0
        yield comes, 0, f"{heat[comes]:.0%} of it is used"

    def _best_swap(self, total: dict[int, TargetUse], heat: dict[int, float]) -> Swap | None:
        """Return the swap to make; None if there is none.

        The previous swap stays while it is valid: of objects about as hot, one is a little hotter
        in one interval and another in the next.
        """
        far = [t for t, memory in self._memory_of.items() if memory != 0 and t in total]
        near = [t for t, memory in self._memory_of.items() if memory == 0]
        free = self._budget - sum(total[t].present for t in near if t in total)

        def is_valid(swap: Swap) -> bool:
            comes, leaves = swap
            size = total[comes].present if comes in far else 0
            if leaves is None:
                return 0 < size <= free and heat[comes] >= MIN_HEAT_MARGIN
            left = total.get(leaves, TargetUse()).present
            fits = leaves in near and free < size <= free + left
            return fits and heat[comes] >= heat[leaves] + MIN_HEAT_MARGIN

        if self._swap is not None and is_valid(self._swap):
            return self._swap
        hottest = max(far, key=heat.__getitem__, default=None)
        coldest = min(near, key=heat.__getitem__, default=None)
        if hottest is None:
            return None
        swap = (hottest, None if total[hottest].present <= free else coldest)
        return swap if is_valid(swap) else None

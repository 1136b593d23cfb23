"""Hotness of movables, from the kernel's referenced bits, and the swaps that follow from it.

A sample clears the bits of all pages (/proc/PID/clear_refs) and counts the set bits one interval
later (/proc/PID/smaps). A movable's heat is the share of its pages that were used. A hot far
movable comes near if there is space, or if it was hotter by `MIN_HEAT_MARGIN` than the movables
that leave for it. Both conditions must last for the hysteresis, and each move of a movable doubles
the hysteresis of its next move. Samples cost at most a small share of the program's time
(`sample_budget`) and become rare while nothing changes.
"""

from __future__ import annotations

import contextlib
import re
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.run import layout
from nearfar.run.movable import Movable, Movables, Piece
from nearfar.run.sample_budget import SampleBudget
from nearfar.run.server import PlacedProcess
from nearfar.run.snapshot import read_state

MIN_HEAT_MARGIN = 0.25
"""Least difference of heat, as a share of pages, for a swap: heat varies between intervals."""
INTERVAL_NS = 500_000_000
"""Time from clearing to counting, in which most pages of an object in use are accessed."""
MAX_PAUSE_NS = 16 * INTERVAL_NS
"""Longest pause between samples while nothing changes: it still shows lasting use."""
OTHERS = Movable(0)
"""All pages that do not move: target 0 is near memory."""

_HUGE_BYTES = 2 << 20
_MAX_DOUBLINGS = 16
"""Most doublings of the hysteresis: no run is longer."""
_RANGE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ", re.ASCII)


@dataclass(frozen=True)
class MovableSwap:
    """A movable that comes near, and those that leave for it."""

    comes: Movable
    leaves: tuple[Movable, ...]

    @property
    def changing(self) -> tuple[Movable, ...]:
        """All that moves, in the order in which it should."""
        return (*self.leaves, self.comes)


@dataclass
class PageUse:
    """Bytes of a movable's pages in the last interval."""

    present: int = 0
    referenced: int = 0
    huge: int = 0
    """Bytes in huge pages, each of which has one accessed bit."""

    @property
    def heat(self) -> float:
        """Share of the pages that were used."""
        return self.referenced / self.present if self.present else 0.0

    def add(self, use: PageUse, share: float = 1.0) -> None:
        """Add a share of another use."""
        self.present += round(use.present * share)
        self.referenced += round(use.referenced * share)
        self.huge += round(use.huge * share)


def uses(smaps: str, pieces: Sequence[Piece]) -> dict[Movable, PageUse]:
    """Return the use of each movable's pages from /proc/PID/smaps; `OTHERS` has all other pages.

    The kernel counts by mapping. If several movables share a mapping, its use is divided among them
    by their sizes. Ranges have separate mappings as long as the library can make more.
    """
    by_address = sorted(pieces)
    begins = [piece.begin for piece in by_address]
    total: dict[Movable, PageUse] = {}
    for begin, end, use in _mappings(smaps):
        left = 1.0
        for piece in by_address[max(0, bisect_right(begins, begin) - 1) : bisect_left(begins, end)]:
            share = (min(end, piece.end) - max(begin, piece.begin)) / (end - begin)
            if share > 0:
                total.setdefault(piece.movable, PageUse()).add(use, share)
                left -= share
        total.setdefault(OTHERS, PageUse()).add(use, left)
    return total


def _mappings(smaps: str) -> Iterator[tuple[int, int, PageUse]]:
    """Yield begin, end and use of each mapping."""
    begin = end = 0
    use = PageUse()
    for line in smaps.splitlines():
        if match := _RANGE.match(line):
            if end:
                yield begin, end, use
            begin, end, use = int(match[1], 16), int(match[2], 16), PageUse()
        elif line.startswith("Rss:"):
            use.present = int(line.split()[1]) << 10
        elif line.startswith("Referenced:"):
            use.referenced = int(line.split()[1]) << 10
        elif line.startswith("AnonHugePages:"):
            use.huge = int(line.split()[1]) << 10
    if end:
        yield begin, end, use


class Hotness:
    """The memory of each movable, and the swaps to make."""

    def __init__(
        self, budget_bytes: int, movables: Movables, samples: SampleBudget | None = None
    ) -> None:
        self._budget = budget_bytes
        self._movables = movables
        self._memory_of = dict(movables.memory_of)
        self._samples = samples or SampleBudget()
        self._cleared_ns: int | None = None
        """When the sample under way began."""
        self._clearing_ns = 0
        self._next_ns = 0
        self._pause_ns = 0
        self._waiting_since_ns: dict[Movable, int] = {}
        """Time at which each movable that should move was first found to."""
        self._move_counts: dict[Movable, int] = {}
        """Number of moves of each movable."""
        self._stuck_near: set[Movable] = set()
        """Movables that could not leave near memory."""

    def changes(
        self, processes: dict[int, PlacedProcess], now_ns: int, hysteresis_ns: int
    ) -> Iterator[tuple[Movable, int, str]]:
        """Yield (movable, memory, reason) of each move to make now."""
        if self._cleared_ns is None:
            if now_ns >= self._next_ns and self._samples.affords(processes):
                self._clear_bits(processes)
                self._cleared_ns = now_ns
        elif now_ns - self._cleared_ns >= INTERVAL_NS:
            self._cleared_ns = None
            yield from self.decide(self._count_use(processes), now_ns, hysteresis_ns)
            if self._waiting_since_ns:
                self._pause_ns = 0
            else:
                self._pause_ns = min(max(2 * self._pause_ns, INTERVAL_NS), MAX_PAUSE_NS)
            self._next_ns = now_ns + self._pause_ns

    def stays(self, movable: Movable, *, near: bool) -> None:
        """Never move `movable` again, because the kernel does not move its pages.

        Pages that several processes map, such as those of shared files, do not move. `near`: it
        stays in near memory and keeps its space there.
        """
        self._memory_of.pop(movable, None)
        if near:
            self._stuck_near.add(movable)

    def _clear_bits(self, processes: dict[int, PlacedProcess]) -> None:
        begun = time.thread_time_ns()
        for pid in processes:
            with contextlib.suppress(OSError):
                Path(f"/proc/{pid}/clear_refs").write_text("1")
        self._clearing_ns = time.thread_time_ns() - begun

    def _count_use(self, processes: dict[int, PlacedProcess]) -> dict[Movable, PageUse]:
        begun = time.thread_time_ns()
        total: dict[Movable, PageUse] = {}
        for pid, process in processes.items():
            try:
                pieces = list(self._movables.pieces(read_state(pid, process.state)))
                text = Path(f"/proc/{pid}/smaps").read_text(errors="replace")
            except OSError:
                continue
            for movable, use in uses(text, pieces).items():
                total.setdefault(movable, PageUse()).add(use)
        small = sum(use.present - use.huge for use in total.values()) // layout.PAGE
        large = sum(use.huge for use in total.values()) // _HUGE_BYTES
        counting_ns = time.thread_time_ns() - begun
        self._samples.charge(small + large, self._clearing_ns + counting_ns)
        return total

    def decide(
        self, total: dict[Movable, PageUse], now_ns: int, hysteresis_ns: int
    ) -> Iterator[tuple[Movable, int, str]]:
        """Yield the moves that follow from the use in the last interval."""
        swaps = self._swaps(total)
        self._waiting_since_ns = {
            movable: self._waiting_since_ns.get(movable, now_ns)
            for swap in swaps
            for movable in swap.changing
        }
        for swap in swaps:
            moved = max(self._move_counts.get(movable, 0) for movable in swap.changing)
            since_ns = max(self._waiting_since_ns[movable] for movable in swap.changing)
            if now_ns - since_ns < hysteresis_ns << min(moved, _MAX_DOUBLINGS):
                continue
            far_memory = self._memory_of[swap.comes]
            for movable in swap.changing:
                del self._waiting_since_ns[movable]
                self._move_counts[movable] = self._move_counts.get(movable, 0) + 1
                self._memory_of[movable] = 0 if movable == swap.comes else far_memory
                used = total[movable].heat
                yield movable, self._memory_of[movable], f"{used:.0%} of it is used"

    def _swaps(self, total: dict[Movable, PageUse]) -> list[MovableSwap]:
        """Return the swaps to make, the hottest first.

        A movable that already waits to move keeps its place in the order, because movables of
        similar heat change their order from interval to interval.
        """
        heat = {movable: use.heat for movable, use in total.items()}
        present_in = {
            movable: memory
            for movable, memory in self._memory_of.items()
            if movable in total and total[movable].present
        }
        far = sorted(
            (movable for movable, memory in present_in.items() if memory != 0),
            key=lambda movable: (movable not in self._waiting_since_ns, -heat[movable]),
        )
        near = sorted(
            (movable for movable, memory in present_in.items() if memory == 0),
            key=lambda movable: (movable not in self._waiting_since_ns, heat[movable]),
        )
        held = [*near, *(movable for movable in self._stuck_near if movable in total)]
        free = self._budget - sum(total[movable].present for movable in held)
        swaps = []
        for comes in far:
            if heat[comes] < MIN_HEAT_MARGIN:
                continue
            room, leaves = free, []
            for movable in near:
                if room >= total[comes].present:
                    break
                if heat[movable] + MIN_HEAT_MARGIN <= heat[comes]:
                    leaves.append(movable)
                    room += total[movable].present
            if room >= total[comes].present:
                free = room - total[comes].present
                near = [movable for movable in near if movable not in leaves]
                swaps.append(MovableSwap(comes, tuple(leaves)))
        return swaps

"""Where a hypervisor has put our two cores, seen by how long a line takes from one to the other.

Virtual cores that are not pinned move among real ones, within seconds. On one virtual machine of
two cores a line took 27 to 50 ns (one last-level cache) or 150 to 210 (two), and beside a
contending core a chase in far memory took 400 and 300 ns, a core's reads got 14 and 18 GB/s: the
load is felt most where both cores share a cache and a way to memory. A kernel measured in one
placement and predicted from curves of another is wrong by tens of per cent, whatever the model; so
each sample is taken between two looks, and samples of one placement only are compared. Where cores
stay, there is but one.

A hypervisor chooses anew when a core wakes: after both slept for 50 ms they were in one cache in
three of four cases, and in two otherwise; kept awake, they stayed for a second to half a minute. So
cores that are elsewhere are let sleep until they come back to the placement that a session is of.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

T = TypeVar("T")

Cores = Literal["apart", "together"]
"""Far memory takes no cache from the program's core. A core that stands in for it by loading memory
does so where both share a cache, and least where they are far apart."""

HandOff = Callable[[], float]
"""Takes a line from one core to the other; returns ns."""

ALIKE = 2.0
"""Within one last-level cache a line took 27 to 50 ns, by which of its cores ours were: memory was
alike to all (400 samples: 403 ns where a line took less than 35, 396 where more)."""

KEPT_LOOKS = 99
"""Of a placement, for its median."""

FRESH_S = 0.004
"""A look so old still holds: the end of one sample is the beginning of the next."""

SLOW_S = 0.03
"""A look takes 3 ms where both cores are free; longer, other work keeps them from meeting, and what
is seen is not their distance."""

PATIENCE_S = 3.0
"""Of slow looks one after the other, after which there are no more: under load each takes up to
seconds. Shorter, somebody listed files, or a hypervisor paused."""

MORE_LOOKS = 4
"""Where a sample takes seconds, and one slow look is no reason to take it again."""

MOST_NAPS = 40
"""Before a sample, to have the cores where the session wants them: one nap in ten took cores out of
one cache into two."""

GIVEN_UP_S = 5.0
"""After so many naps in vain, none: the hypervisor has reasons to keep them where they are. Awake,
they may be moved all the same."""

MOST_GIVEN_UP_S = 20.0
"""Each time in vain doubles it up to this: less than a program rests while cores are elsewhere."""

FIRST_LOOKS = 48
"""With a nap before each: which placements there are to choose from."""

OFTEN = 1 / 24
"""Of all looks, at some time after the first: what is seen less often is not come back to soon."""

LINES_BYTES = 2 << 20
"""Of the memory that holds the line: one huge page, so that no page walk is in its time."""


@dataclass(frozen=True)
class _GivenUp:
    """Until when no nap is tried, and for how long if the next ones are in vain too, s."""

    until_s: float = -math.inf
    length_s: float = GIVEN_UP_S


class Placement:
    """Numbers placements as they are seen, from 0."""

    def __init__(
        self,
        hand_off: HandOff | None,
        clock: Callable[[], float] = time.monotonic,
        nap: Callable[[], None] | None = None,
    ) -> None:
        """`hand_off` None: there is one core, which has no neighbour to be apart from. `nap` lets
        the cores sleep for a while.
        """
        self._hand_off, self._clock, self._nap = hand_off, clock, nap
        self._wants: Cores | None = None
        self._given_up: dict[int, _GivenUp] = {}
        """By where the cores would not come to."""
        self._seen: list[list[float]] = []
        self._looks: Counter[int] = Counter()
        self._often: set[int] = set()
        self._now: int | None = 0
        self._at = -math.inf
        self._slow_s = 0.0
        self.hindered = False
        """Whether other work on the machine ended the looking."""

    @staticmethod
    def of(cpus: tuple[int, ...], nap: Callable[[], None] | None = None) -> Placement:
        """Return that of the first and the last of some CPUs, on which a companion works."""
        if len(cpus) < 2:
            return Placement(None)
        from nearfar import _measure

        memory = _measure.Memory.anonymous(LINES_BYTES, "thp", None)
        return Placement(
            lambda: float(_measure.core_to_core(cpus[0], cpus[-1], memory).line_ns), nap=nap
        )

    def want(self, cores: Cores) -> None:
        """From now on, bring the cores to where a line takes longest between them, or least, of the
        placements that they are often in.
        """
        if self._nap is None:
            return
        self._wants = cores
        for _ in range(FIRST_LOOKS):
            if self._hand_off is None:
                return  # other work hinders
            self._nap()
            self.now()

    def _wanted_from(self, seen: int | None) -> int | None:
        """Return where the session wants cores that were seen somewhere; None: anywhere."""
        if self._wants is None or self._hand_off is None:
            return None
        choose = max if self._wants == "apart" else min
        here = () if seen is None else (seen,)
        return choose((*self._often, *here), key=self._median_ns, default=None)

    def _median_ns(self, number: int) -> float:
        return statistics.median(self._seen[number])

    def come_to(self, wanted: int | None) -> int | None:
        """Let the cores sleep while they are elsewhere; return where they are then."""
        seen = self._now if self._is_fresh() else self.patiently()
        if wanted is None:
            return seen
        given_up = self._given_up.get(wanted, _GivenUp())
        for _ in range(MOST_NAPS):
            if seen == wanted:
                break
            if self._nap is None or self._hand_off is None or self._clock() < given_up.until_s:
                return seen
            self._nap()
            seen = self.patiently()
        if seen == wanted:
            self._given_up.pop(wanted, None)
        else:
            until_s = self._clock() + given_up.length_s
            self._given_up[wanted] = _GivenUp(
                until_s, min(2.0 * given_up.length_s, MOST_GIVEN_UP_S)
            )
        return seen

    def come_to_wanted(self) -> int | None:
        """Have the cores where the session wants them, if that can be; return where they are."""
        seen = self.patiently()
        # What was hardly ever seen may be one slow look: once more, before much begins there.
        if self._wants is not None and seen not in self._often:
            seen = self.patiently()
        wanted = self._wanted_from(seen)
        return seen if wanted in (None, seen) else self.come_to(wanted)

    def now(self) -> int | None:
        """Look, and return the number of what is seen; None: other work kept the cores busy."""
        if self._hand_off is None:
            return 0
        began = self._clock()
        ns = self._hand_off()
        self._at = self._clock()
        took_s = self._at - began
        if took_s > SLOW_S:
            self._slow_s += took_s
            self._now = None
            if self._slow_s < PATIENCE_S:
                return None
            self.hindered = True
            self.look_no_more()
            return 0
        self._slow_s = 0.0
        self._now = self._number(ns)
        self._looks[self._now] += 1
        looks = self._looks.total()
        if self._wants is not None and looks >= FIRST_LOOKS:
            # For good: while cores stay elsewhere there are many looks that do not see them.
            self._often |= {one for one, times in self._looks.items() if times >= OFTEN * looks}
        return self._now

    def patiently(self) -> int | None:
        """Look a few times, until other work lets it see."""
        seen = self.now()
        for _ in range(MORE_LOOKS):
            if seen is not None:
                break
            seen = self.now()
        return seen

    def look_no_more(self) -> None:
        """Take all that comes for one placement: there is no telling them apart here."""
        self._hand_off = None
        self._seen.clear()
        self._looks.clear()
        self._often.clear()
        self._now = 0

    def during(self, take: Callable[[], T], wanted: int | None = None) -> tuple[T, int | None]:
        """Return what `take` returns and the placement it was taken in; None: it changed.

        `wanted` is where the cores are to be for it, by default where the session wants them.
        """
        before = self._now if self._is_fresh() else self.now()
        wanted = self._wanted_from(before) if wanted is None else wanted
        if wanted is not None and before != wanted:
            before = self.come_to(wanted)
        found = take()
        after = self.now()
        return found, before if after == before else None

    def _is_fresh(self) -> bool:
        return self._now is not None and self._clock() - self._at < FRESH_S

    def hand_off_ns(self, number: int) -> float | None:
        """Return the median time of a line in a placement; None where there is one core."""
        return self._median_ns(number) if number < len(self._seen) else None

    def said(self) -> str:
        """Return the times of all placements seen, for people."""
        medians = sorted(statistics.median(one) for one in self._seen)
        return ", ".join(f"{ns:.0f}" for ns in medians) + " ns"

    def _number(self, ns: float) -> int:
        medians = [statistics.median(one) for one in self._seen]
        far = [abs(math.log(ns / median)) for median in medians]
        nearest = min(range(len(far)), key=far.__getitem__, default=None)
        if nearest is None or far[nearest] > math.log(ALIKE):
            self._seen.append([ns])
            return len(self._seen) - 1
        looks = self._seen[nearest]
        looks.append(ns)
        del looks[:-KEPT_LOOKS]
        return nearest

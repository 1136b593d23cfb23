"""The common deadline of all runs of a profile, and the time that each run may take.

A program that takes too long is run three times: by itself, observed under QEMU, and by itself
again to the place where sampling ended. Each run may use the time that earlier runs left.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

START_S = 2.0
"""Time that a program may take to start, s."""
LEAST_SLOWDOWN = 2.0
"""Least ratio of time under QEMU to native time: no program was faster with the plugin."""
PLAIN_SHARE = 0.4
"""Share of the time left that a plain run may take where the observed run must reach the end, too:
instrumented programs take 1.5 times as long or more."""
PART_PLAIN_SHARE = 0.2
"""The same if a part may be observed. A program that takes longer ends under QEMU within the other
four fifths only if QEMU takes less than four times as long as the plain run."""
LONGER = 1.25
"""Allowed ratio of a second native run to the first, since other programs use the processor too."""
LEAST_S = 1.0
"""Least time of a run, even close to the deadline, s."""


@dataclass(frozen=True)
class RunDeadline:
    """The end of all runs."""

    ends_s: float
    """Value of `clock` at which all runs must have ended, s."""
    clock: Callable[[], float] = time.monotonic
    after_s: float = 0.0
    """Time at the start of each run that is not counted, s (--after)."""

    def left_s(self) -> float:
        """Return the time left, s."""
        return max(LEAST_S, self.ends_s - self.clock())

    def counted_s(self, runs: int = 1) -> float:
        """Return the time left less what `runs` runs do not count, s."""
        return max(LEAST_S, self.ends_s - self.clock() - runs * self.after_s)

    def plain_s(self, *, in_part: bool) -> float:
        """Return how long the first plain run may be counted, s; `in_part`: a part may be observed.

        The observed run follows.
        """
        return self.counted_s(runs=2) * (PART_PLAIN_SHARE if in_part else PLAIN_SHARE)

    def sample_s(self, plain_s: float | None) -> float:
        """Return how long the program may be sampled under QEMU, s.

        `plain_s`: time of the whole plain run; None: the run did not end. The remaining time is for
        the start of the program, and for a native run to the place where sampling ended. This run
        repeats what QEMU ran, including the part before --after.
        """
        left_s = self.counted_s() - 2 * START_S
        shares_s = [(left_s - self.after_s / LEAST_SLOWDOWN) / (1 + 1 / LEAST_SLOWDOWN)]
        if plain_s is not None:
            shares_s.append(left_s - LONGER * plain_s)
        return max(LEAST_S, *shares_s)

    def part_s(self, tries: int) -> float:
        """Return how long one native run to a part's end may take, with `tries` of them left, s."""
        return max(LEAST_S, self.left_s() / tries)

"""Ways of a buffer by stride: lines a large stride apart meet in few sets, and overflow them early.

n lines at a stride that is a multiple of the distance of two places in one set all meet in one set,
and `ways` of them fit, however large the buffer. Sets need not be a power of two of blocks: of odd
multiples of one large power of two, the one under which the fewest lines fit is taken; it meets in
one set if ways times the odd part of the sets are at most `MOST_WAYS`, and else nothing is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nearfar.measure.infer.levels import MISFIT
from nearfar.measure.infer.miss_curves import POWERS, power_misses

if TYPE_CHECKING:
    from numpy.typing import NDArray

ODD = (1, 3, 5, 7, 9, 11, 13, 15)
MOST_WAYS = 16
"""Of sets in any cache or buffer described so far; up to here `ODD` leave no sets out."""

LINES = tuple(range(2, 25))
"""Numbers of lines tested: half as many again as the most ways, so that the misses show."""

SAME_STEP = 0.35
"""The knee's step must be the level's own within so much, and the latency before it likewise."""

LEAST_GAIN = 30.0
"""Chi-square that a knee must win over all lines being served."""


@dataclass(frozen=True)
class LinesKnee:
    """How many lines of one stride a level serves; None: all that were tested, or it is unclear."""

    lines: int | None


def lines_knee(
    lines: NDArray[np.float64],
    latency: NDArray[np.float64],
    noise: float,
    served_ns: float,
    step_ns: float,
) -> LinesKnee:
    """Return how many lines the level that serves in `served_ns` holds.

    Under LRU one line more makes all miss; under random replacement misses grow with the lines.
    """
    sigma = np.hypot(max(noise, MISFIT) * latency, SAME_STEP / 10 * step_ns)
    flat = float((((latency - served_ns) / sigma) ** 2).sum())
    best, errors = None, flat - LEAST_GAIN
    for count in range(1, int(lines[-1])):
        for power in POWERS:
            misses = power_misses(lines / (count + KNEE_AT), power)
            if misses[-1] < LEAST_MISSED:
                continue
            error = float((((latency - served_ns - step_ns * misses) / sigma) ** 2).sum())
            if error < errors:
                best, errors = count, error
    if best is None or errors > BADLY_EXPLAINED * len(lines):
        return LinesKnee(None)
    return LinesKnee(best)


KNEE_AT = 0.02
"""Beyond the last number of lines that fit, so that it is served wholly and the next is not."""

LEAST_MISSED = 0.4
"""Of the most lines tested: less of a rise may be anything."""

BADLY_EXPLAINED = 4.0
"""Chi-square per number of lines beyond which no knee explains the curve."""

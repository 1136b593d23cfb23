"""Ways of a buffer by stride: lines a power of two apart meet in few sets, and overflow them early.

n lines at stride s fill C / s of a buffer of capacity C as long as s is below the size of a way
(C / ways); from there on they all meet in one set, and `ways` of them fit whatever the stride.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nearfar.measure.infer.levels import Medians, find_levels

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAME_STEP = 0.4
"""The knee's step must be the level's own within so much, and the latency before it likewise."""

FLATTENED = 1.35
"""Lines x stride over capacity beyond which the lines do not spread over all sets any more."""

EVERY_UP_TO = 20
"""Every number of lines is tested up to here: ways are small numbers, and not always powers."""


@dataclass(frozen=True)
class LinesKnee:
    """How many lines of one stride a level serves; None: all that were tested."""

    lines: int | None
    ambiguous: bool = False
    """There is a knee, and it is not this level's."""


def counts(most: int) -> list[int]:
    """Return numbers of lines to test: every one at first, then 8 an octave."""
    found = set(range(2, min(most, EVERY_UP_TO) + 1))
    octave = 16
    while octave <= most:
        found |= {round(octave * 2 ** (part / 8)) for part in range(8)}
        # One more than a power of two is where a power of two of ways overflows.
        found |= {octave, octave + 1}
        octave *= 2
    return sorted(count for count in found if count <= most)


def lines_knee(
    lines: NDArray[np.float64],
    latency: NDArray[np.float64],
    noise: float,
    served_ns: float,
    step_ns: float,
) -> LinesKnee:
    """Return how many lines the level that serves in `served_ns` holds."""
    fit = find_levels(Medians(lines, latency, noise))
    for index, level in enumerate(fit.levels):
        before = fit.served_ns(index)
        if (
            abs(before - served_ns) <= SAME_STEP * step_ns
            and abs(level.step_ns - step_ns) <= SAME_STEP * step_ns
        ):
            return LinesKnee(int(np.floor(level.capacity_bytes + 1e-9)))
    # No knee of this level: all served, if the last latency says so.
    if latency[-1] <= served_ns + SAME_STEP * step_ns:
        return LinesKnee(None)
    return LinesKnee(None, ambiguous=True)

"""Region sizes to test: so many per octave, in whole multiples of a step."""

from __future__ import annotations

from itertools import pairwise

COARSE_PER_OCTAVE = 2
FINE_PER_OCTAVE = 8
"""Near knees: a capacity is known to the next tested size, 9 %."""


def sizes(low_bytes: float, high_bytes: float, per_octave: int, step_bytes: int = 64) -> list[int]:
    """Return sizes from low to high (both at most), multiples of `step_bytes`, ascending.

    Powers of two are among them, and `per_octave` - 1 sizes between two of them.
    """
    chosen: set[int] = set()
    octave = 1 << max(int(low_bytes).bit_length() - 1, 0)
    while octave <= high_bytes:
        for part in range(per_octave):
            exact = octave * 2 ** (part / per_octave)
            size = round(exact / step_bytes) * step_bytes
            if low_bytes <= size <= high_bytes and size > 0:
                chosen.add(size)
        octave *= 2
    return sorted(chosen)


def neighbours(tested: list[int], size: float) -> tuple[int, int]:
    """Return the tested sizes around `size`: the largest not above it, the smallest above it.

    Beyond either end, the end itself.
    """
    below = max((other for other in tested if other <= size), default=tested[0])
    above = min((other for other in tested if other > size), default=tested[-1])
    return below, above


def geometric_gaps(tested: list[int]) -> float:
    """Return the largest ratio of two neighbouring tested sizes."""
    return max((second / first for first, second in pairwise(tested)), default=1.0)

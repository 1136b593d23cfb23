"""Which block a full buffer gives up: LRU is a cliff just beyond the capacity, random is soft.

Blocks are visited again and again in one order, a few more of them than the buffer holds. The
predicted curves are in `miss_curves`; likelihood decides, and what neither explains is "other".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from nearfar.measure.infer.miss_curves import lru_misses, random_misses

if TYPE_CHECKING:
    from numpy.typing import NDArray

Replacement = Literal["lru", "random", "other"]

RATIOS = (0.8, 1.06, 1.12, 1.19, 1.3, 1.42, 1.7, 2.0, 2.5, 4.0, 6.0)
"""Regions over capacity: dense where the two differ, and a plateau at each end."""

MISFIT = 0.04
"""Share of misses that neither curve keeps to on a real buffer."""

CAPACITY_IS_OFF = tuple(np.linspace(0.92, 1.08, 9))
"""A capacity is known to the next tested size only."""

BADLY_EXPLAINED = 6.0
"""Chi-square per point beyond which a curve explains nothing: mostly beyond two sigma."""

NOT_EXPLAINED = 30.0
"""The same beyond which it is another replacement: mostly beyond five sigma. Between the two a
capacity that is off by more than a tested size does as much, and nothing is said."""

CLEARLY_BETTER = 8.0
"""Difference of chi-square from which one is said: odds of 50 to 1."""


def decide_replacement(
    ratios: NDArray[np.float64],
    latency: NDArray[np.float64],
    noise: float,
    ways: int | None,
) -> Replacement | None:
    """Return the replacement that explains latency over region / capacity; None: cannot be told.

    The first and last point are taken to be all served and all missed.
    """
    step = latency[-1] - latency[0]
    if step <= 0:
        return None
    misses = (latency - latency[0]) / step
    sigma = np.hypot(MISFIT, noise * latency / step)
    inner = slice(1, len(ratios) - 1)
    # The last point has not quite missed all under random replacement; both share that bias.
    candidates: dict[Replacement, list[NDArray[np.float64]]] = {
        "lru": [
            lru_misses(ratios * off, way)
            for off in CAPACITY_IS_OFF
            for way in ([ways] if ways else [4, 8, 16, 64, 1024])
        ],
        "random": [random_misses(ratios * off) for off in CAPACITY_IS_OFF],
    }
    errors: dict[Replacement, float] = {
        name: min(float((((misses - curve) / sigma)[inner] ** 2).sum()) for curve in curves)
        for name, curves in candidates.items()
    }
    best: Replacement = min(errors, key=lambda name: errors[name])
    if errors[best] > NOT_EXPLAINED * (len(ratios) - 2):
        return "other"
    if errors[best] > BADLY_EXPLAINED * (len(ratios) - 2):
        return None
    if abs(errors["lru"] - errors["random"]) < CLEARLY_BETTER:
        return None
    return best

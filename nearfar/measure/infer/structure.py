"""Block size, ways and replacement of one buffer or cache, decided from curves of latency.

- Block: a chase visits the lines of `access_bytes` in turn, such pieces in random order, in a
  region that the buffer does not hold. A piece within one block pays one miss, so ns per line
  falls as 64 / access_bytes until pieces are as large as the block.
- Ways: under LRU, misses rise from none at the capacity to all at 1 + 1/ways of it, the more ways
  the steeper. Else a chase over a few lines whose distance is a multiple of the level's size meets
  one set.
- Replacement: misses over region / capacity, a cliff for LRU, a soft rise for random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nearfar.base.units import LINE_BYTES
from nearfar.measure.infer.levels import MODEL_ERROR
from nearfar.measure.infer.miss_curves import POWERS, lru_misses, power_misses, random_misses

ODD = (1, 3, 5, 7, 9, 11, 13, 15)
MAX_WAYS = 16
"""Ways of any cache or buffer described so far; up to here `ODD` leaves no number out."""

LINES = tuple(range(2, 25))
"""Numbers of lines tested: half as many again as `MAX_WAYS`, so that the misses show."""

STEP_TOLERANCE = 0.35
"""Relative difference allowed between the knee's step and the step of the level."""

MIN_GAIN = 30.0
"""Chi-square by which a knee must beat a flat curve."""


@dataclass(frozen=True)
class LinesKnee:
    """Number of lines of one stride that a level serves; None: all that were tested, or unclear."""

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
    sigma = np.hypot(max(noise, MODEL_ERROR) * latency, STEP_TOLERANCE / 10 * step_ns)
    flat = float((((latency - served_ns) / sigma) ** 2).sum())
    best, errors = None, flat - MIN_GAIN
    for count in range(1, int(lines[-1])):
        for power in POWERS:
            misses = power_misses(lines / (count + KNEE_OFFSET), power)
            if misses[-1] < MIN_MISSES:
                continue
            error = float((((latency - served_ns - step_ns * misses) / sigma) ** 2).sum())
            if error < errors:
                best, errors = count, error
    if best is None or errors > MAX_WAYS_CHI_SQUARE * len(lines):
        return LinesKnee(None)
    return LinesKnee(best)


KNEE_OFFSET = 0.02
"""Lines added to a tested count, so that this count is served wholly and the next is not."""

MIN_MISSES = 0.4
"""Share of misses required at the largest number of lines: a smaller rise may be anything."""

MAX_WAYS_CHI_SQUARE = 4.0
"""Chi-square per number of lines beyond which no knee explains the curve."""


STEEP_RATIOS = (
    0.83,
    0.93,
    1.01,
    1.035,
    1.065,
    1.095,
    1.13,
    1.2,
    1.28,
    1.36,
    1.46,
    1.57,
    1.83,
    1.97,
)
"""Ratios of region to capacity at which it shows how steeply misses rise: none of `RATIOS`, whose
samples are of another time, when the machine may have been slower."""

MORE_WAYS = (18, 20, 24, 32, 64, 10**6)
"""Ways beyond `MAX_WAYS` to tell from those up to it; the last: fully associative."""

WAYS_TRIED = np.array([*range(1, MAX_WAYS + 1), *MORE_WAYS], dtype=float)

STEEP_ERROR = 0.015
"""Share of misses by which a buffer's misses differ from those of LRU sets filled evenly."""

STEEP_OFFSETS = np.linspace(0.9, 1.1, 81)
"""Factors on the capacity to try: it is known to the next tested size, 9 %."""

MAX_STEEP_CHI_SQUARE = 3.0
"""Chi-square per point beyond which the sets are not LRU, or not filled evenly."""


BESIDE_RISE = (0.81, 0.85, 1.16, 1.25, 1.33, 1.41, 1.52, 1.63, 1.75, 1.88, 1.95)
"""Ratios of region to capacity that show what is no rise of LRU sets, whatever their ways."""

RISE = np.linspace(-0.35, 1.6, 21)
"""Places in the rise, from none of the sets that miss (0) to all (1)."""


def steep_ratios(ways: int) -> list[float]:
    """Return ratios of region to capacity all along the rise of LRU sets of `ways`, and beside."""
    return sorted([*BESIDE_RISE, *(float(ratio) for ratio in 1 + RISE / ways)])


@dataclass(frozen=True)
class SteepRise:
    """LRU sets that explain how steeply misses rise beyond a capacity."""

    ways: int | None
    """The best number; None: more than `MAX_WAYS`, another replacement, or one line a set, which
    looks alike."""
    sure: bool
    """Whether it explains the rise, and any other number does so far worse."""
    factor: float
    """Ratio of the capacity that fits to the one expected."""


def steep_rise(
    ratios: NDArray[np.float64], latency: NDArray[np.float64], noise: float
) -> SteepRise:
    """Return the LRU sets that latency over region / capacity shows."""
    scaled = ratios / STEEP_OFFSETS[:, None]
    lru = np.stack([lru_misses(scaled, float(ways)) for ways in WAYS_TRIED])
    random = random_misses(scaled)[None]
    # The rise is at most what lies between the smallest and the largest latency.
    rise = float(latency.max() - latency.min())
    sigma = np.hypot(STEEP_ERROR * rise, max(noise, MODEL_ERROR / 2) * latency)
    by_curve = _step_errors(np.concatenate([lru, random]), latency, sigma)
    errors = by_curve.min(axis=1)
    best = int(np.argmin(errors))
    others = np.delete(errors, best)
    explains = errors[best] <= MAX_STEEP_CHI_SQUARE * len(ratios)
    return SteepRise(
        best + 1 if 0 < best < MAX_WAYS else None,
        bool(explains and others.min() - errors[best] >= MIN_DIFFERENCE and 0 < best < MAX_WAYS),
        float(STEEP_OFFSETS[int(np.argmin(by_curve[best]))]),
    )


def _step_errors(
    misses: NDArray[np.float64], latency: NDArray[np.float64], sigma: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return chi-square of the best latency of hits and of misses for each curve of `misses`."""
    weight = 1 / sigma**2
    total = weight.sum()
    mean_miss = misses @ weight / total
    mean_ns = float(latency @ weight / total)
    centred = misses - mean_miss[..., None]
    covariance = centred @ (weight * (latency - mean_ns))
    variance = np.maximum((centred**2) @ weight, 1e-12)
    step_ns = np.maximum(covariance / variance, 0.0)
    fitted = mean_ns + step_ns[..., None] * centred
    return np.asarray(np.square((latency - fitted) / sigma).sum(axis=-1))


Replacement = Literal["lru", "random", "other"]

RATIOS = (0.8, 1.06, 1.12, 1.19, 1.3, 1.42, 1.7, 2.0, 2.5, 4.0, 6.0)
"""Ratios of region to capacity: dense where the two policies differ, with a plateau at each end."""

REPLACEMENT_ERROR = 0.04
"""Share of misses by which a real buffer differs from either curve."""

LRU_WAYS = (2, 3, 4, 6, 8, 16, 64, 1024)
"""Ways to try for LRU; sets of one way miss as random replacement does."""

CAPACITY_ERRORS = tuple(np.linspace(0.92, 1.08, 9))
"""Factors on the capacity to try, because it is known only to the next tested size."""

MAX_CHI_SQUARE = 6.0
"""Chi-square per point beyond which a fit explains nothing: mostly beyond two sigma."""

OTHER_CHI_SQUARE = 30.0
"""Chi-square per point beyond which the replacement is another: mostly beyond five sigma. Between
`MAX_CHI_SQUARE` and this, a wrong capacity may explain the curve too: no answer."""

MIN_DIFFERENCE = 8.0
"""Difference of chi-square between the two replacements that decides: odds of 50 to 1."""


def decide_replacement(
    ratios: NDArray[np.float64],
    latency: NDArray[np.float64],
    noise: float,
) -> Replacement | None:
    """Return the replacement that explains latency over region / capacity; None: undecided.

    The first point is assumed to be all hits, the last all misses.
    """
    step = latency[-1] - latency[0]
    if step <= 0:
        return None
    misses = (latency - latency[0]) / step
    sigma = np.hypot(REPLACEMENT_ERROR, noise * latency / step)
    inner = slice(1, len(ratios) - 1)
    # Under random replacement the last point still has a few hits; both candidates share that bias.
    candidates: dict[Replacement, list[NDArray[np.float64]]] = {
        "lru": [lru_misses(ratios * off, way) for off in CAPACITY_ERRORS for way in LRU_WAYS],
        "random": [random_misses(ratios * off) for off in CAPACITY_ERRORS],
    }
    errors: dict[Replacement, float] = {
        name: min(float((((misses - curve) / sigma)[inner] ** 2).sum()) for curve in curves)
        for name, curves in candidates.items()
    }
    best: Replacement = min(errors, key=lambda name: errors[name])
    if errors[best] > OTHER_CHI_SQUARE * (len(ratios) - 2):
        return "other"
    if errors[best] > MAX_CHI_SQUARE * (len(ratios) - 2):
        return None
    if abs(errors["lru"] - errors["random"]) < MIN_DIFFERENCE:
        return None
    return best


ACCESSES = (64, 128, 256, 512, 1024, 2048, 4096)
"""Bytes of one piece of the chase; the kernels take at most 4 KiB."""

STEP_ERROR = 0.12
"""Relative error of a miss's cost from the capacity curve. It bounds the amplified part:
prefetchers make ns per line fall too, but not by one miss a block."""


@dataclass(frozen=True)
class BlockFit:
    """Block size that explains the amplification curve, or why there is none."""

    size_bytes: int | None
    why_not: str = ""
    fitted: NDArray[np.float64] | None = None


def find_block(
    accesses: Sequence[int],
    ns_per_line: NDArray[np.float64],
    noise: float,
    step_ns: float,
    nearer: Sequence[tuple[int, float]] = (),
) -> BlockFit:
    """Return the block size of the buffer whose misses cost `step_ns` more.

    `nearer` are (block, step in ns) of the buffers before it, which miss in this region too.
    """
    sizes = np.array(accesses, dtype=float)
    sigma = max(noise, MODEL_ERROR) * ns_per_line
    known = [(LINE_BYTES / np.minimum(sizes, block), step) for block, step in nearer]
    fits = {
        size: _fit(ns_per_line, sigma, [*known, (LINE_BYTES / np.minimum(sizes, size), step_ns)])
        for size in accesses
    }
    best = min(fits, key=lambda size: fits[size][0])
    chi_square, fitted = fits[best]
    if chi_square > MAX_CHI_SQUARE * len(accesses):
        fall = float(ns_per_line[0] - ns_per_line[-1])
        return BlockFit(
            None,
            f"lines of one piece cost {fall:.0f} ns less than single ones where a miss costs "
            f"{step_ns:.0f} ns, and no block size explains how that grows with the piece",
        )
    return BlockFit(best, fitted=fitted)


def _fit(
    target: NDArray[np.float64],
    sigma: NDArray[np.float64],
    parts: list[tuple[NDArray[np.float64], float]],
) -> tuple[float, NDArray[np.float64]]:
    """Fit `target` by a constant and `parts`, each a shape times a size in ns.

    `parts` are (shape, expected size in ns); sizes and constant are at least 0. Return chi-square,
    which includes the sizes' deviations from those expected, and the fitted curve.
    """
    from scipy.optimize import nnls

    design = np.stack([np.ones(len(target)), *(shape for shape, _ in parts)], axis=1)
    # The expected size of each part counts as one measurement of it.
    prior = np.zeros((len(parts), len(parts) + 1))
    for row, (_, size) in enumerate(parts):
        prior[row, row + 1] = 1 / (STEP_ERROR * size)
    solved, residual = nnls(
        np.concatenate([design / sigma[:, None], prior]),
        np.concatenate([target / sigma, np.full(len(parts), 1 / STEP_ERROR)]),
    )
    return float(residual**2), design @ solved

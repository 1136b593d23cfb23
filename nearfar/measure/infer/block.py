"""Block size of a buffer by amplification: ns per line stops falling at the block size.

A chase visits the lines of `access_bytes` in turn, such pieces in random order, in a region that
the buffer does not hold: a piece within one block pays one miss, so ns per line falls as
64 / access_bytes until pieces are as large as the block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.measure.infer.levels import MISFIT

if TYPE_CHECKING:
    from numpy.typing import NDArray

ACCESSES = (64, 128, 256, 512, 1024, 2048, 4096)
"""Of the chase; the kernels' blocks end at 4 KiB."""

STEP_KNOWN = 0.12
"""The capacity curve tells what a miss costs to about so much; it holds for the amplified part:
prefetchers make ns per line fall too, but by more or less than one miss a block."""

BADLY_EXPLAINED = 6.0
"""Chi-square per point beyond which no block size explains the curve."""


@dataclass(frozen=True)
class BlockFit:
    """Block size that explains the amplification curve; None with the reason."""

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
    sigma = max(noise, MISFIT) * ns_per_line
    known = [(LINE_BYTES / np.minimum(sizes, block), step) for block, step in nearer]
    fits = {
        size: _fit(ns_per_line, sigma, [*known, (LINE_BYTES / np.minimum(sizes, size), step_ns)])
        for size in accesses
    }
    best = min(fits, key=lambda size: fits[size][0])
    chi_square, fitted = fits[best]
    if chi_square > BADLY_EXPLAINED * len(accesses):
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
    """Return chi-square and the curve of a constant and `parts` (shape, expected size in ns)."""
    from scipy.optimize import nnls

    design = np.stack([np.ones(len(target)), *(shape for shape, _ in parts)], axis=1)
    # What is known of each part beforehand counts as one measurement of it.
    prior = np.zeros((len(parts), len(parts) + 1))
    for row, (_, size) in enumerate(parts):
        prior[row, row + 1] = 1 / (STEP_KNOWN * size)
    solved, residual = nnls(
        np.concatenate([design / sigma[:, None], prior]),
        np.concatenate([target / sigma, np.full(len(parts), 1 / STEP_KNOWN)]),
    )
    return float(residual**2), design @ solved

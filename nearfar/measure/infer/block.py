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

from nearfar.measure.infer.levels import MISFIT

if TYPE_CHECKING:
    from numpy.typing import NDArray

LINE_BYTES = 64
ACCESSES = (64, 128, 256, 512, 1024, 2048, 4096)
"""Of the chase; the kernels' blocks end at 4 KiB."""

STEP_AGREES = 0.4
"""The amplified part must be the step that the capacity curve shows, within so much: prefetchers
make ns per line fall too, but by more or less than one miss a block."""

LEAST_FALL = 0.15
"""Share of the level's step by which ns per line must fall at all; less: each line pays."""


@dataclass(frozen=True)
class Block:
    """Block size that explains the amplification curve; None with the reason."""

    size_bytes: int | None
    why_not: str = ""
    fitted: NDArray[np.float64] | None = None


def find_block(
    accesses: Sequence[int],
    ns_per_line: NDArray[np.float64],
    noise: float,
    step_ns: float,
    nearer_blocks: Sequence[int] = (),
) -> Block:
    """Return the block size of the buffer whose misses cost `step_ns` more.

    `nearer_blocks` are those of the buffers before it, which miss in this region too.
    """
    sizes = np.array(accesses, dtype=float)
    fall = ns_per_line[0] - ns_per_line[-1]
    sigma = np.maximum(noise, MISFIT) * ns_per_line
    known = [LINE_BYTES / np.minimum(sizes, block) for block in nearer_blocks]
    flat = _fit(ns_per_line, sigma, known, None)
    if fall < LEAST_FALL * step_ns or (not known and fall < 4 * float(sigma.max())):
        return Block(LINE_BYTES, fitted=flat[1])
    fits = {
        size: _fit(ns_per_line, sigma, known, LINE_BYTES / np.minimum(sizes, size))
        for size in accesses[1:]
    }
    best = min(fits, key=lambda size: fits[size][0])
    chi_square, fitted, amplified = fits[best]
    if known and flat[0] - chi_square < 4.0:
        return Block(LINE_BYTES, fitted=flat[1])
    if best in nearer_blocks:
        # Two buffers of one block size share their column; the solver may give it all to one.
        return Block(best, fitted=fitted)
    if not (1 - STEP_AGREES) * step_ns <= amplified <= (1 + STEP_AGREES) * step_ns:
        return Block(
            None,
            f"ns per line falls by {amplified:.0f} ns a block where a miss costs {step_ns:.0f} ns: "
            "prefetching, not blocks",
        )
    return Block(best, fitted=fitted)


def _fit(
    target: NDArray[np.float64],
    sigma: NDArray[np.float64],
    known: list[NDArray[np.float64]],
    own: NDArray[np.float64] | None,
) -> tuple[float, NDArray[np.float64], float]:
    """Return chi-square, the curve and the part of `own`; no part is negative."""
    from scipy.optimize import nnls

    columns = [np.ones(len(target)), *known, *([own] if own is not None else [])]
    design = np.stack(columns, axis=1)
    solved, residual = nnls(design / sigma[:, None], target / sigma)
    return float(residual**2), design @ solved, float(solved[-1])

"""The knee in ns per burst beyond which writers wait for the write queue.

Up to the queue's size another line costs its issue, beyond it the drain of one. The queue drains
while a burst is issued, so the knee lies at size / (1 - issue / drain) lines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from nearfar.measure.infer.levels import MODEL_ERROR

MIN_BEND = 1.5
"""Ratio of a line's cost beyond the knee to its cost before."""

MIN_GAIN = 20.0
"""Chi-square that the knee must win over a straight line, in units of log(points)."""

MIN_DRAIN_SHARE = 0.5
"""Share of a single write that draining a line must take: with less, the processor's buffers bend
the curve in the same way (ten lines in flight, each a tenth of the latency)."""


@dataclass(frozen=True)
class QueueKnee:
    """The queue that a curve of bursts shows, or why there is none."""

    lines: float | None
    why_not: str = ""
    knee_lines: float = 0.0
    """Lines at which the curve bends."""
    issue_ns: float = 0.0
    drain_ns: float = 0.0
    fitted: NDArray[np.float64] | None = None


def find_queue(
    lines: NDArray[np.float64], burst_ns: NDArray[np.float64], noise: float
) -> QueueKnee:
    """Return the queue that ns per burst of `lines` (ascending) shows."""
    sigma = max(noise, MODEL_ERROR) * burst_ns
    straight = _fitted(lines, burst_ns, sigma, None)
    knees = np.geomspace(lines[1], lines[-2], 200)
    fits = [_fitted(lines, burst_ns, sigma, float(knee)) for knee in knees]
    best = int(np.argmin([fit[0] for fit in fits]))
    chi_square, (base, issue, bend), fitted = fits[best]
    drain = issue + bend
    if straight[0] - chi_square < MIN_GAIN * np.log(len(lines)):
        return QueueKnee(None, "ns per burst rises evenly with its lines", fitted=straight[2])
    if drain < MIN_BEND * issue:
        return QueueKnee(
            None, f"a line beyond the knee costs {drain:.0f} ns, one before it {issue:.0f} ns: "
            "too alike to be a full queue", fitted=fitted,
        )  # fmt: skip
    if drain < MIN_DRAIN_SHARE * (base + issue):
        return QueueKnee(
            None, f"lines go on at {drain:.0f} ns each where one takes {base + issue:.0f} ns: "
            "the processor's own buffers explain it", fitted=fitted,
        )  # fmt: skip
    knee = float(knees[best])
    return QueueKnee(knee * (1 - issue / drain), "", knee, issue, drain, fitted)


def _fitted(
    lines: NDArray[np.float64],
    burst_ns: NDArray[np.float64],
    sigma: NDArray[np.float64],
    knee: float | None,
) -> tuple[float, tuple[float, float, float], NDArray[np.float64]]:
    """Return chi-square, the fitted (base ns, ns per line, bend) and the curve in ns.

    The bend is the ns that each line beyond `knee` takes more. None of the three is negative.
    """
    columns = [np.ones(len(lines)), lines]
    if knee is not None:
        columns.append(np.maximum(lines - knee, 0.0))
    design = np.stack(columns, axis=1)
    solved, residual = nnls(design / sigma[:, None], burst_ns / sigma)
    parts = (float(solved[0]), float(solved[1]), float(solved[2]) if knee is not None else 0.0)
    return float(residual**2), parts, design @ solved

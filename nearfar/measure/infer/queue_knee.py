"""How many lines a burst of writes may have before writers wait: a knee in ns per burst.

Up to the queue's size a line more costs what issuing it costs; beyond, what draining one costs.
While a burst is issued the queue drains already, so the knee lies beyond the queue's size: at
size / (1 - issue / drain) lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nearfar.measure.infer.levels import MODEL_ERROR

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_BEND = 1.5
"""Times that a line beyond the knee must cost more than one before it."""

LEAST_GAIN = 20.0
"""Chi-square that the knee must win over a straight line, in units of log(points)."""

SLOW = 0.5
"""Draining a line must take so much of a single write: where it takes less, the processor's own
buffers bend the curve in the same way (ten lines in flight, each a tenth of the latency)."""


@dataclass(frozen=True)
class QueueKnee:
    """The queue that a curve of bursts shows; lines None: none, and why."""

    lines: float | None
    why_not: str = ""
    knee_lines: float = 0.0
    """Where the curve bends."""
    issue_ns: float = 0.0
    drain_ns: float = 0.0
    fitted: NDArray[np.float64] | None = None


def find_queue(
    lines: NDArray[np.float64], burst_ns: NDArray[np.float64], noise: float
) -> QueueKnee:
    """Return the queue that ns per burst of `lines` (ascending) shows."""
    sigma = max(noise, MODEL_ERROR) * burst_ns
    straight = _line(lines, burst_ns, sigma, None)
    knees = np.geomspace(lines[1], lines[-2], 200)
    fits = [_line(lines, burst_ns, sigma, float(knee)) for knee in knees]
    best = int(np.argmin([fit[0] for fit in fits]))
    chi_square, (base, issue, bend), fitted = fits[best]
    drain = issue + bend
    if straight[0] - chi_square < LEAST_GAIN * np.log(len(lines)):
        return QueueKnee(None, "ns per burst rises evenly with its lines", fitted=straight[2])
    if drain < LEAST_BEND * issue:
        return QueueKnee(
            None, f"a line beyond the knee costs {drain:.0f} ns, one before it {issue:.0f} ns: "
            "too alike to be a full queue", fitted=fitted,
        )  # fmt: skip
    if drain < SLOW * (base + issue):
        return QueueKnee(
            None, f"lines go on at {drain:.0f} ns each where one takes {base + issue:.0f} ns: "
            "the processor's own buffers explain it", fitted=fitted,
        )  # fmt: skip
    knee = float(knees[best])
    return QueueKnee(knee * (1 - issue / drain), "", knee, issue, drain, fitted)


def _line(
    lines: NDArray[np.float64],
    burst_ns: NDArray[np.float64],
    sigma: NDArray[np.float64],
    knee: float | None,
) -> tuple[float, tuple[float, float, float], NDArray[np.float64]]:
    """Return chi-square, (base, ns per line, bend) and the curve; none is negative."""
    from scipy.optimize import nnls

    columns = [np.ones(len(lines)), lines]
    if knee is not None:
        columns.append(np.maximum(lines - knee, 0.0))
    design = np.stack(columns, axis=1)
    solved, residual = nnls(design / sigma[:, None], burst_ns / sigma)
    parts = (float(solved[0]), float(solved[1]), float(solved[2]) if knee is not None else 0.0)
    return float(residual**2), parts, design @ solved

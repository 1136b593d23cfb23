"""The curves that inferences were made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.samples.point import Group


@dataclass(frozen=True)
class Evidence:
    """A curve that an inference was made from, ready to be drawn."""

    group: Group
    """Group of the samples it was made of."""
    title: str
    x_name: str
    """Name with unit, such as "region (bytes)"."""
    y_name: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    """Median at each x."""
    y_low: NDArray[np.float64]
    y_high: NDArray[np.float64]
    """Quartiles of the samples."""
    knees: tuple[float, ...] = ()
    """Positions on x of the decision."""
    fitted: NDArray[np.float64] | None = None
    """Prediction of the answer at each x."""
    log_x: bool = True

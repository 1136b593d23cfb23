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
    """Lower (`y_low`) and upper quartile of the samples."""
    knees: tuple[float, ...] = ()
    """Positions on x that the inference decided for."""
    fitted: NDArray[np.float64] | None = None
    """Value at each x that the inferred answer predicts."""
    log_x: bool = True

"""Evidence for pictures, made from the samples of a curve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nearfar.measure.infer.resample import medians
from nearfar.samples.evidence import Evidence
from nearfar.samples.point import Group


def make_evidence(
    group: Group,
    title: str,
    axes: tuple[str, str],
    x: Sequence[float] | NDArray[np.float64],
    samples: Sequence[NDArray[np.float64]],
    *,
    knees: Sequence[float] = (),
    fitted: NDArray[np.float64] | None = None,
    log_x: bool = True,
) -> Evidence:
    """Return the curve of `samples` over `x`: medians with quartiles."""
    quartiles = np.array([np.percentile(values, (25, 75)) for values in samples])
    return Evidence(
        group=group,
        title=title,
        x_name=axes[0],
        y_name=axes[1],
        x=np.asarray(x, dtype=float),
        y=medians(samples),
        y_low=quartiles[:, 0],
        y_high=quartiles[:, 1],
        knees=tuple(knees),
        fitted=fitted,
        log_x=log_x,
    )

"""The two memories of the NVDIMM thesis, from its tables 4 and 5 only."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from nearfar.predict.shared_channels import Scaling
from nearfar.predict.traffic import Array
from nearfar_studies.figures import published


def fit_scaling(threads: Array, gb_per_s: Array) -> Scaling:
    """Fit capacity and sharpness to a scaling curve whose first point is one thread's.

    Least squares of logarithms with a loss that limits single outliers (soft L1 beyond 2 %).
    Raises ValueError without a point of one thread and two more.
    """
    if len(threads) < 3 or threads[0] != 1:
        raise ValueError("a scaling curve needs one thread's point and at least two more")
    one_thread = float(gb_per_s[0])
    best = float(np.max(gb_per_s))

    def residuals(logs: Array) -> Array:
        scaling = Scaling(one_thread, float(np.exp(logs[0])), float(np.exp(logs[1])))
        return np.asarray(np.log(scaling.at(threads) / gb_per_s))

    # Ten times the best bandwidth: a curve that has not bent yet shows no more of its capacity.
    bounds = ([np.log(best), np.log(0.5)], [np.log(10 * best), np.log(50.0)])
    fitted = least_squares(
        residuals,
        [np.log(1.1 * best), np.log(2.5)],
        bounds=bounds,
        loss="soft_l1",
        f_scale=0.02,
    )
    return Scaling(one_thread, float(np.exp(fitted.x[0])), float(np.exp(fitted.x[1])))


THESIS = published("nvdimm-thesis")
TABLES = {"DRAM": "4", "NVDIMM": "5"}
KERNELS = ("copy", "scale", "add", "triad", "sum")

LINES_PER_COUNTED = {"copy": 3 / 2, "scale": 3 / 2, "add": 4 / 3, "triad": 4 / 3, "sum": 1.0}
"""Bytes on the channels over bytes that STREAM counts: a plain store reads its line first."""


def curve(memory: str, kernel: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return threads and GB/s of a kernel as printed."""
    columns = THESIS.columns(TABLES[memory])
    return columns["threads"], columns[kernel] / 1000.0


def scaling(memory: str, kernel: str = "copy") -> Scaling:
    """Return the law fitted to all sixteen points of a kernel."""
    threads, gb_per_s = curve(memory, kernel)
    return _fitted(tuple(threads.tolist()), tuple(gb_per_s.tolist()))


@lru_cache(maxsize=64)
def _fitted(threads: tuple[float, ...], gb_per_s: tuple[float, ...]) -> Scaling:
    return fit_scaling(np.array(threads), np.array(gb_per_s))

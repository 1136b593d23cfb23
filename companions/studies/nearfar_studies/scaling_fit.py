"""A memory's scaling law, fitted to a published curve of bandwidth by threads."""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares

from nearfar.predict.shared_channels import Scaling
from nearfar.predict.traffic import Array


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

"""Intervals on the cycle-level core: 90 %, each calibrated on the other kernels.

All results of a kernel (each slower level, with and without prefetchers) form one group. Its
interval is widened as much as the errors of the other kernels require, as in `nearfar validate`.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from nearfar.base.estimate import Estimate
from nearfar.predict.calibration import conformity_score, spread
from nearfar.validate.conformal import grouped_quantile, interval_score, leave_group_out
from nearfar_studies.cycle_level import CyclePrediction


@dataclass(frozen=True)
class IntervalQuality:
    """Quality of one model's intervals of slowdowns."""

    margin: float
    """Logarithm of the ratio by which each end moves outwards, calibrated on all kernels."""
    coverage: float
    width: float
    """Mean width."""
    score: float
    """Winkler's score, mean: the width plus, for a miss, twenty times its distance."""


def as_they_are(cases: Sequence[CyclePrediction]) -> IntervalQuality:
    """Return the quality of the default model's intervals without a calibration."""
    return _judged(cases, [case.interval for case in cases], 0.0)


def calibrated(
    cases: Sequence[CyclePrediction], model: str | None = None
) -> IntervalQuality | None:
    """Return the quality of intervals calibrated on the other kernels; None: too few kernels.

    The intervals lie around the values of `model`; None: they widen those of the default model.
    """
    uncalibrated = [
        case.interval if model is None else Estimate(*[case.predicted[model]] * 3) for case in cases
    ]
    scores = [
        conformity_score(interval, case.truth)
        for interval, case in zip(uncalibrated, cases, strict=True)
    ]
    names = [case.kernel for case in cases]
    margins = leave_group_out(scores, names)
    if not all(map(isfinite, margins)):
        return None
    intervals = [
        spread(interval, margin) for interval, margin in zip(uncalibrated, margins, strict=True)
    ]
    return _judged(cases, intervals, grouped_quantile(scores, names))


def _judged(
    cases: Sequence[CyclePrediction], intervals: Sequence[Estimate], margin: float
) -> IntervalQuality:
    pairs = list(zip(intervals, (case.truth for case in cases), strict=True))
    return IntervalQuality(
        margin=margin,
        coverage=statistics.fmean(
            interval.low <= truth <= interval.high for interval, truth in pairs
        ),
        width=statistics.fmean(interval.high - interval.low for interval, _ in pairs),
        score=statistics.fmean(
            interval_score(interval.low, interval.high, truth) for interval, truth in pairs
        ),
    )

"""Intervals on the cycle-level core: 90 %, each calibrated on the other kernels.

A kernel's results (each slower level, with and without prefetchers) are one group: its interval is
widened by what the other kernels' errors ask for, as `nearfar validate` does.
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
    """How good one model's intervals are; of slowdowns."""

    margin: float
    """By what all kernels together ask for each end to be moved outwards, logarithm of a ratio."""
    coverage: float
    width: float
    """Mean."""
    score: float
    """Winkler's, mean: the width, and twenty times what a miss is out by."""


def as_they_are(cases: Sequence[CyclePrediction]) -> IntervalQuality:
    """Return how good the default model's intervals are, without a calibration."""
    return _judged(cases, [case.interval for case in cases], 0.0)


def calibrated(
    cases: Sequence[CyclePrediction], model: str | None = None
) -> IntervalQuality | None:
    """Return how good intervals calibrated on the other kernels are; None: too few kernels.

    `model`: of its values, with no interval of its own; None: of the default model and its own.
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

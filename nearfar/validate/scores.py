"""From results to how right each model was. Pure: numbers in, numbers out."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Sequence
from math import isfinite

from nearfar.base.statistics import Estimate
from nearfar.documents.validation import (
    Calibration,
    KernelResult,
    ModelScore,
    ModelSlowdown,
    Session,
)
from nearfar.predict.calibration import conformity_score, spread
from nearfar.validate.conformal import LEVEL, grouped_quantile, interval_score, leave_group_out

NULL = "null"


def errors_of(results: Sequence[KernelResult], model: str) -> list[float]:
    """Return predicted / measured - 1 of far time, of every result that `model` predicted."""
    return [
        result.models[model].slowdown / result.slowdown.value - 1.0
        for result in results
        if model in result.models
    ]


def score(results: Sequence[KernelResult], model: str) -> ModelScore | None:
    """Return how right `model` was; None: it predicted nothing."""
    had = [result for result in results if model in result.models]
    if not had:
        return None
    errors = errors_of(had, model)
    mean = statistics.fmean(map(abs, errors))
    of_null = statistics.fmean(abs(1.0 / result.slowdown.value - 1.0) for result in had)
    measured = [result.slowdown.value for result in had]
    predicted = [_estimate(result.models[model]) for result in had]
    inside = [one.low <= value <= one.high for one, value in zip(predicted, measured, strict=True)]
    margins = leave_group_out(
        [conformity_score(one, value) for one, value in zip(predicted, measured, strict=True)],
        [result.name for result in had],
    )
    intervals = [
        spread(one, margin)
        for one, margin in zip(predicted, margins, strict=True)
        if isfinite(margin)
    ]
    finite = len(intervals) == len(had)
    held = [one.low <= value <= one.high for one, value in zip(intervals, measured, strict=False)]
    costs = [
        interval_score(one.low, one.high, value)
        for one, value in zip(intervals, measured, strict=False)
    ]
    return ModelScore(
        mean_error=mean,
        max_error=max(map(abs, errors)),
        bias=statistics.fmean(errors),
        rank=rank_correlation([one.value for one in predicted], measured),
        skill=1.0 - mean / of_null if of_null > 0 else None,
        coverage=statistics.fmean(held) if finite else None,
        width=statistics.fmean(one.high - one.low for one in intervals) if finite else None,
        interval_score=statistics.fmean(costs) if finite else None,
        own_coverage=statistics.fmean(inside),
        own_width=statistics.fmean(one.high - one.low for one in predicted),
        results=len(had),
    )


def scores(results: Sequence[KernelResult]) -> dict[str, ModelScore]:
    """Return every model's score, the most right first."""
    names = list(dict.fromkeys(name for result in results for name in result.models))
    found = {name: made for name in names if (made := score(results, name)) is not None}
    return dict(sorted(found.items(), key=lambda item: item[1].mean_error))


def rank_correlation(predicted: Sequence[float], measured: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation; None where either side is all alike or has one value."""
    if len(set(predicted)) < 2 or len(set(measured)) < 2:
        return None
    from scipy import stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = float(stats.spearmanr(predicted, measured).statistic)
    return found if isfinite(found) else None


def floor_of(results: Sequence[KernelResult]) -> float:
    """Return the A/A floor: the mean error of predicting a half of the rounds by the other."""
    return statistics.fmean(abs(result.a_a) for result in results) if results else 0.0


def between_sessions(results: Sequence[KernelResult]) -> float | None:
    """Return the mean distance of sessions' slowdowns from the median of all; None: one session.

    What no prediction from one session's curves can be blamed for.
    """
    by_name: dict[str, list[float]] = {}
    for result in results:
        by_name.setdefault(result.name, []).append(result.slowdown.value)
    apart = [
        abs(value / statistics.median(values) - 1.0)
        for values in by_name.values()
        if len(values) > 1
        for value in values
    ]
    return statistics.fmean(apart) if apart else None


def calibrations(results: Sequence[KernelResult], sessions: Sequence[Session]) -> list[Calibration]:
    """Return by what intervals of each model must be widened; none where kernels are too few."""
    found = []
    for model in dict.fromkeys(name for result in results for name in result.models):
        had = [result for result in results if model in result.models]
        margin = grouped_quantile(
            [conformity_score(_estimate(one.models[model]), one.slowdown.value) for one in had],
            [one.name for one in had],
        )
        if isfinite(margin):
            found.append(
                Calibration(
                    model=model,
                    tier=sessions[0].tier,
                    level=LEVEL,
                    margin=margin,
                    kernels=len({one.name for one in had}),
                    sessions=len({one.session for one in had}),
                    cpu_models=sorted({session.cpu_model for session in sessions}),
                )
            )
    return found


def _estimate(one: ModelSlowdown) -> Estimate:
    return Estimate(one.slowdown, one.low, one.high)

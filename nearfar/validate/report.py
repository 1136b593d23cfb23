"""The report of one session, or of several pooled."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Sequence
from math import isfinite
from typing import Any

from scipy import stats

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.documents import producer
from nearfar.documents.validation import (
    Calibration,
    KernelResult,
    ModelScore,
    ModelSlowdown,
    Session,
    ValidationReport,
)
from nearfar.predict.calibration import conformity_score, spread
from nearfar.validate.conformal import (
    LEVEL,
    grouped_quantile,
    interval_score,
    leave_group_out,
    min_groups,
)
from nearfar.validate.session_plan import SessionState

SCORE_KEYS = ("mean_error", "max_error", "bias", "rank", "skill", "coverage", "width")


def report_of(state: SessionState) -> ValidationReport:
    """Return the report of one session."""
    report = pooled([state.session], state.results)
    report.near_device = state.near.device("near", state.pairing)
    report.far_device = state.far.device("far", state.pairing)
    report.ended = "interrupted" if state.interrupted else "done"
    opened = [*state.near.opened.warnings, *state.far.opened.warnings]
    report.warnings[:0] = list(dict.fromkeys([*opened, *state.warnings]))
    return report


def pooled(sessions: Sequence[Session], results: Sequence[KernelResult]) -> ValidationReport:
    """Return the report of several sessions; refuse to mix kinds of far memory."""
    if not results:
        raise NearfarError("there are no results to judge: `nearfar validate --learn` stores some")
    tiers = sorted({session.tier for session in sessions})
    if len(tiers) > 1:
        raise NearfarError(
            f"the sessions have different kinds of far memory ({', '.join(tiers)}), and errors on "
            "one do not apply to another: pool each kind alone"
        )
    models = scores(results)
    lacking = {
        name: reason
        for result in results
        for name, reason in result.lacking.items()
        if name not in models
    }
    warnings = []
    kernels = len({result.name for result in results})
    if kernels <= min_groups():
        warnings.append(
            f"90 % intervals calibrated on the other kernels need {min_groups() + 1} kernels; "
            f"there are {kernels}"
        )
    return ValidationReport(
        producer=producer(),
        sessions=list(sessions),
        results=list(results),
        models=models,
        floor=floor_of(results),
        between_sessions=between_sessions(results),
        calibrations=calibrations(results, sessions) if kernels >= min_groups() else [],
        lacking=lacking,
        warnings=warnings,
    )


def as_json(report: ValidationReport) -> dict[str, Any]:
    """Return the object of --json: results, each model's score, the floor; errors as fractions."""
    return {
        "kernels": [
            {
                "name": result.name,
                "what": result.what,
                "session": result.session,
                "near_ns": result.near_ns.value,
                "far_ns": result.far_ns.value,
                "slowdown": result.slowdown.value,
                "a_a": result.a_a,
                "predicted": {name: model.slowdown for name, model in result.models.items()},
            }
            for result in report.results
        ],
        "models": {
            name: {key: getattr(score, key) for key in SCORE_KEYS}
            for name, score in report.models.items()
        },
        "floor": report.floor,
    }


def errors_of(results: Sequence[KernelResult], model: str) -> list[float]:
    """Return predicted / measured slowdown - 1 of every result that `model` predicted."""
    return [
        result.models[model].slowdown / result.slowdown.value - 1.0
        for result in results
        if model in result.models
    ]


def score(results: Sequence[KernelResult], model: str) -> ModelScore | None:
    """Return the score of `model`; None: it predicted nothing."""
    scored = [result for result in results if model in result.models]
    if not scored:
        return None
    errors = errors_of(scored, model)
    mean = statistics.fmean(map(abs, errors))
    mean_of_null = statistics.fmean(abs(1.0 / result.slowdown.value - 1.0) for result in scored)
    measured = [result.slowdown.value for result in scored]
    predicted = [_estimate(result.models[model]) for result in scored]
    margins = leave_group_out(
        [
            conformity_score(estimate, value)
            for estimate, value in zip(predicted, measured, strict=True)
        ],
        [result.name for result in scored],
    )
    intervals = [
        spread(estimate, margin)
        for estimate, margin in zip(predicted, margins, strict=True)
        if isfinite(margin)
    ]
    finite = len(intervals) == len(scored)
    costs = [
        interval_score(interval.low, interval.high, value)
        for interval, value in zip(intervals, measured, strict=False)
    ]
    return ModelScore(
        mean_error=mean,
        max_error=max(map(abs, errors)),
        bias=statistics.fmean(errors),
        rank=rank_correlation([estimate.value for estimate in predicted], measured),
        skill=1.0 - mean / mean_of_null if mean_of_null > 0 else None,
        coverage=_coverage(intervals, measured) if finite else None,
        width=_mean_width(intervals) if finite else None,
        interval_score=statistics.fmean(costs) if finite else None,
        own_coverage=_coverage(predicted, measured),
        own_width=_mean_width(predicted),
        results=len(scored),
    )


def _coverage(intervals: Sequence[Estimate], measured: Sequence[float]) -> float:
    return statistics.fmean(
        interval.low <= value <= interval.high
        for interval, value in zip(intervals, measured, strict=False)
    )


def _mean_width(intervals: Sequence[Estimate]) -> float:
    return statistics.fmean(interval.high - interval.low for interval in intervals)


def scores(results: Sequence[KernelResult]) -> dict[str, ModelScore]:
    """Return every model's score, the smallest error first."""
    names = dict.fromkeys(name for result in results for name in result.models)
    scored = {name: made for name in names if (made := score(results, name)) is not None}
    return dict(sorted(scored.items(), key=lambda item: item[1].mean_error))


def rank_correlation(predicted: Sequence[float], measured: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation; None where either side has a single value."""
    if len(set(predicted)) < 2 or len(set(measured)) < 2:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rank = float(stats.spearmanr(predicted, measured).statistic)
    return rank if isfinite(rank) else None


def floor_of(results: Sequence[KernelResult]) -> float:
    """Return the A/A floor: the mean difference between slowdowns of both halves of rounds."""
    return statistics.fmean(abs(result.a_a) for result in results) if results else 0.0


def between_sessions(results: Sequence[KernelResult]) -> float | None:
    """Return the mean distance of slowdowns from their median over sessions; None: one session.

    A prediction from one session's curves cannot be more accurate than this.
    """
    by_name: dict[str, list[float]] = {}
    for result in results:
        by_name.setdefault(result.name, []).append(result.slowdown.value)
    distances = [
        abs(value / statistics.median(values) - 1.0)
        for values in by_name.values()
        if len(values) > 1
        for value in values
    ]
    return statistics.fmean(distances) if distances else None


def calibrations(results: Sequence[KernelResult], sessions: Sequence[Session]) -> list[Calibration]:
    """Return the margin of each model's intervals; leave out models with too few kernels."""
    made = []
    for model in dict.fromkeys(name for result in results for name in result.models):
        scored = [result for result in results if model in result.models]
        margin = grouped_quantile(
            [
                conformity_score(_estimate(result.models[model]), result.slowdown.value)
                for result in scored
            ],
            [result.name for result in scored],
        )
        if isfinite(margin):
            made.append(
                Calibration(
                    model=model,
                    tier=sessions[0].tier,
                    level=LEVEL,
                    margin=margin,
                    kernels=len({result.name for result in scored}),
                    sessions=len({result.session for result in scored}),
                    cpu_models=sorted({session.cpu_model for session in sessions}),
                )
            )
    return made


def _estimate(predicted: ModelSlowdown) -> Estimate:
    return Estimate(predicted.slowdown, predicted.low, predicted.high)

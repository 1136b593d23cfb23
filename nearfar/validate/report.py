"""The report of one session, or of several pooled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nearfar.base.errors import NearfarError
from nearfar.documents import producer
from nearfar.documents.validation import KernelResult, Session, ValidationReport
from nearfar.validate.conformal import min_groups
from nearfar.validate.scores import between_sessions, calibrations, floor_of, scores
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

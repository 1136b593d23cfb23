"""From sessions' results to the document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nearfar.base.errors import NearfarError
from nearfar.documents import producer
from nearfar.documents.validation import KernelResult, Session, ValidationReport
from nearfar.validate.conformal import fewest_groups
from nearfar.validate.scores import between_sessions, calibrations, floor_of, scores
from nearfar.validate.wanted import Found


def report_of(found: Found) -> ValidationReport:
    """Return the report of one session."""
    made = pooled([found.session], found.results)
    made.near_device = found.near.device("near", found.placement)
    made.far_device = found.far.device("far", found.placement)
    made.ended = "interrupted" if found.interrupted else "done"
    opened = [*found.near.opened.warnings, *found.far.opened.warnings]
    made.warnings[:0] = list(dict.fromkeys([*opened, *found.warnings]))
    return made


def pooled(sessions: Sequence[Session], results: Sequence[KernelResult]) -> ValidationReport:
    """Return the report of several sessions of one kind; refuses to mix kinds of far memory."""
    if not results:
        raise NearfarError("there are no results to judge: `nearfar validate --learn` makes some")
    tiers = sorted({session.tier for session in sessions})
    if len(tiers) > 1:
        raise NearfarError(
            f"the sessions are of different kinds of far memory ({', '.join(tiers)}): what is "
            "right on one says nothing of another; pool them apart"
        )
    models = scores(results)
    lacking = {
        name: why
        for result in results
        for name, why in result.lacking.items()
        if name not in models
    }
    warnings = []
    names = {result.name for result in results}
    if len(names) <= fewest_groups():
        warnings.append(
            f"{len(names)} kernels are too few for 90 % intervals calibrated on the others: "
            f"{fewest_groups() + 1} are needed"
        )
    return ValidationReport(
        producer=producer(),
        sessions=list(sessions),
        results=list(results),
        models=models,
        floor=floor_of(results),
        between_sessions=between_sessions(results),
        calibrations=calibrations(results, sessions) if len(names) >= fewest_groups() else [],
        lacking=lacking,
        warnings=warnings,
    )


def as_json(report: ValidationReport) -> dict[str, Any]:
    """Return what --json prints: results, each model's score, the floor; errors as fractions."""
    return {
        "kernels": [
            {
                "name": one.name,
                "what": one.what,
                "session": one.session,
                "near_ns": one.near_ns.value,
                "far_ns": one.far_ns.value,
                "slowdown": one.slowdown.value,
                "a_a": one.a_a,
                "predicted": {name: model.slowdown for name, model in one.models.items()},
            }
            for one in report.results
        ],
        "models": {
            name: {
                "mean_error": one.mean_error,
                "max_error": one.max_error,
                "bias": one.bias,
                "rank": one.rank,
                "skill": one.skill,
                "coverage": one.coverage,
                "width": one.width,
            }
            for name, one in report.models.items()
        },
        "floor": report.floor,
    }

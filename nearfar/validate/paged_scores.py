"""Scores of a session in a paged memory, and its tables."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from rich.console import Console

from nearfar.base.estimate import Estimate
from nearfar.base.tables import say, table
from nearfar.base.units import format_bytes
from nearfar.documents import DeviceProfile, PagedValidation, producer
from nearfar.documents.paged_validation import LockedRun, PagedCase, PagedCliff, PagedScore
from nearfar.predict.paged_device import CLIFF
from nearfar.validate.report import rank_correlation

SLOWDOWNS = (1.1, 20.0)
"""Range of measured slowdowns to which scores of time apply: below the range, faults hardly matter;
above it, nobody would run the program in this way."""
MIN_FAULTS = 1000
"""Number of faults below which a count depends more on the process's start than on its data."""
MIN_RANKED = 3
"""Minimum number of cases for a rank correlation."""
GAIN = 1.2
"""Minimum predicted gain of the plans whose mean measured gain is reported."""


def scored(
    far: str,
    device: DeviceProfile,
    cases: list[PagedCase],
    cliffs: list[PagedCliff],
    left_out: dict[str, str],
) -> PagedValidation:
    """Return the document of a session."""
    judged = [case for case in cases if SLOWDOWNS[0] <= case.slowdown <= SLOWDOWNS[1]]
    counted = [case for case in cases if case.faults >= MIN_FAULTS]
    locked = [case.locked for case in cases if case.locked is not None]
    gains = [run.measured_gain for run in locked if run.predicted_gain >= GAIN]
    names = ["paged", *judged[0].models] if judged else []
    return PagedValidation(
        producer=producer(),
        far=far,
        device=device,
        cases=cases,
        models={name: _score(name, judged) for name in names},
        fault_error=statistics.fmean(
            abs(case.predicted_faults.value / case.faults - 1) for case in counted
        )
        if counted
        else None,
        coverage=_coverage([(case.slowdown, case.predicted) for case in judged]),
        coverage_alone=_coverage(
            [(case.slowdown, case.predicted_alone) for case in judged if case.predicted_alone]
        ),
        gain=math.exp(statistics.fmean(math.log(gain) for gain in gains)) if gains else None,
        cliffs=cliffs,
        worst_gain=min((run.measured_gain for run in locked), default=None),
        left_out=left_out,
    )


def _coverage(cases: Sequence[tuple[float, Estimate]]) -> float | None:
    """Return the share of slowdowns inside their intervals; None without a case."""
    if not cases:
        return None
    return statistics.fmean(each.low <= slowdown <= each.high for slowdown, each in cases)


def _score(name: str, cases: Sequence[PagedCase]) -> PagedScore:
    predicted = [case.predicted.value if name == "paged" else case.models[name] for case in cases]
    errors = [abs(p / case.slowdown - 1) for p, case in zip(predicted, cases, strict=True)]
    return PagedScore(
        mean_error=statistics.fmean(errors),
        rank=rank_correlation(predicted, [case.slowdown for case in cases])
        if len(cases) >= MIN_RANKED
        else None,
        cases=len(cases),
    )


def held(cliff: PagedCliff) -> bool:
    """Return whether time doubles between the limits around the predicted cliff."""
    return cliff.slowdown_above <= CLIFF <= cliff.slowdown_below


def print_paged(report: PagedValidation, console: Console) -> None:
    """Print the cases, the scores and what was left out."""
    columns = ["kernel or program", "near", "faults", "predicted", "slowdown", "predicted", "90 %"]
    _print_numbers(console, columns, [_row(case) for case in report.cases])
    columns = ["plan", "near", "locked", "faults", "quicker than the kernel", "predicted"]
    plans = [_plan_row(case, case.locked) for case in report.cases if case.locked is not None]
    _print_numbers(console, columns, plans)
    scores = [
        [name, f"{score.mean_error:.1%}", "" if score.rank is None else f"{score.rank:.2f}"]
        for name, score in report.models.items()
    ]
    _print_numbers(console, ["model", "mean error of time", "rank"], scores)
    say(console, *sentences(report))


def _print_numbers(console: Console, columns: list[str], rows: list[list[str]]) -> None:
    if rows:
        console.print(table(columns, rows, right=slice(1, None), wrap=False, edge=False))
        console.print()


def _row(case: PagedCase) -> list[str]:
    return [
        case.name,
        f"{case.near_share:.0%}",
        f"{case.faults:,.0f}",
        f"{case.predicted_faults.value:,.0f}",
        f"{case.slowdown:.2f}",
        f"{case.predicted.value:.2f}",
        f"{case.predicted.low:.2f}-{case.predicted.high:.2f}",
    ]


def _plan_row(case: PagedCase, locked: LockedRun) -> list[str]:
    return [
        case.name,
        f"{case.near_share:.0%}",
        format_bytes(locked.locked_bytes),
        f"{locked.faults:,.0f}",
        f"{locked.measured_gain:.2f}x",
        f"{locked.predicted_gain:.2f}x",
    ]


def sentences(report: PagedValidation) -> list[str]:
    """Return the sentences below the tables."""
    cases = next(iter(report.models.values())).cases if report.models else 0
    lines = [
        f"Errors of time are |predicted / measured - 1| of slowdowns from {SLOWDOWNS[0]} to "
        f"{SLOWDOWNS[1]:g}: {cases} of {len(report.cases)} cases."
    ]
    if report.fault_error is not None:
        lines.append(
            f"Faults: mean error {report.fault_error:.1%} of cases with {MIN_FAULTS:,} or more."
        )
    if report.coverage is not None:
        alone = ""
        if report.coverage_alone is not None:
            alone = f"; without this noise: {report.coverage_alone:.0%}"
        lines.append(
            "Inside the predicted 90 % interval with the noise measured beside: "
            f"{report.coverage:.0%}{alone}."
        )
    if report.cliffs:
        lines.append(
            "Programs whose time doubles where it was predicted to (within 5 % of their pages): "
            f"{sum(held(cliff) for cliff in report.cliffs)} of {len(report.cliffs)}."
        )
    if report.gain is not None:
        lines.append(
            f"Plans predicted to be {GAIN}x quicker than the kernel alone: {report.gain:.2f}x in "
            "the geometric mean."
        )
    if report.worst_gain is not None:
        lines.append(
            f"The slowest plan ran {report.worst_gain:.2f} times as fast as the kernel alone."
        )
    lines += [f"left out: {name}: {why}" for name, why in report.left_out.items()]
    return lines

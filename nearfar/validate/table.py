"""Print a report: results, then models, then the claims that the data supports."""

from __future__ import annotations

from rich.console import Console

from nearfar.base.tables import say, table
from nearfar.base.units import format_bytes, format_ns
from nearfar.documents.validation import KernelResult, ModelScore, ValidationReport
from nearfar.predict.model import DEFAULT_MODEL

MIN_MOVE_RATIO = 1.25
"""Ratio of line transfer times from which two core pairings differ; see `core_pairing`."""


def print_report(report: ValidationReport, console: Console) -> None:
    """Print tables of results and of models, then sentences."""
    say(console, _head(report))
    shown = DEFAULT_MODEL if DEFAULT_MODEL in report.models else next(iter(report.models), "")
    results = sorted(report.results, key=lambda row: (row.what, row.name, row.session))
    columns = ["kernel or program", "near", "slowdown", "A/A", shown, "interval", "error"]
    _print_numbers(console, columns, [_row(result, shown) for result in results])
    columns = ["model", "mean", "max", "bias", "rank", "skill", "cover", "width", "score"]
    _print_numbers(console, columns, [[k, *_scores(score)] for k, score in report.models.items()])
    say(console, *sentences(report))


def _print_numbers(console: Console, columns: list[str], rows: list[list[str]]) -> None:
    console.print(table(columns, rows, right=slice(1, None), wrap=False, edge=False))
    console.print()


def sentences(report: ValidationReport) -> list[str]:
    """Return the sentences below the tables."""
    lines = [
        "Errors are predicted / measured - 1 of time.",
        f"A/A floor: two measurements of the same thing differ by {report.floor:.1%} on average; "
        "a smaller mean error cannot be claimed.",
    ]
    if report.between_sessions is not None:
        lines.append(
            f"Between sessions, measured slowdowns differ from their median by "
            f"{report.between_sessions:.1%} on average."
        )
    lines += _pairings(report)
    best = next(iter(report.models.items()), None)
    if best is not None and best[1].mean_error <= report.floor:
        lines.append(f"{best[0]} is within the floor: its error may be all noise.")
    if any(score.coverage is not None for score in report.models.values()):
        lines.append(
            "Cover, width and score (Winkler's: width plus the cost of misses, less is better) are "
            "of 90 % intervals of the slowdown, each calibrated on the other kernels."
        )
    lines += [f"{name} predicted nothing: {reason}" for name, reason in report.lacking.items()]
    lines += [f"warning: {text}" for text in report.warnings]
    if report.ended == "interrupted":
        lines.append("Interrupted: the report covers what was measured until then.")
    return lines


def _pairings(report: ValidationReport) -> list[str]:
    """Report core pairings, if there was more than one."""
    times_ns = sorted(row.hand_off_ns for row in report.results if row.hand_off_ns is not None)
    left_out = sum(result.left_out for result in report.results)
    if not times_ns or (left_out == 0 and times_ns[-1] < MIN_MOVE_RATIO * times_ns[0]):
        return []
    used = sum(len(result.far_samples_ns) for result in report.results)
    return [
        f"The hypervisor moved the cores: a line took {times_ns[0]:.0f} to {times_ns[-1]:.0f} ns "
        f"between them. Each result is of one core pairing; {left_out} of {used + left_out} far "
        "samples were of others and are not used."
    ]


def _head(report: ValidationReport) -> str:
    first = report.sessions[0]
    count = len(report.sessions)
    several = f"{count} sessions, " if count > 1 else ""
    return (
        f"{several}{first.near} -> {first.far}, {format_bytes(first.region_bytes)} of data, "
        f"last-level cache {format_bytes(first.llc_bytes)}, {first.cpu_model}"
    )


def _row(result: KernelResult, shown: str) -> list[str]:
    cells = [
        result.name if len(result.name) <= 24 else f"{result.name[:21]}...",
        format_ns(result.near_ns.value),
        f"{result.slowdown.value:.3f}",
        f"{result.a_a:+.1%}",
    ]
    model = result.models.get(shown)
    if model is None:
        return [*cells, "-", "-", "-"]
    error = model.slowdown / result.slowdown.value - 1.0
    return [
        *cells,
        f"{model.slowdown:.3f}",
        f"{model.low:.2f} - {model.high:.2f}",
        _percent(error, "+"),
    ]


def _scores(score: ModelScore) -> list[str]:
    return [
        _percent(score.mean_error),
        _percent(score.max_error),
        _percent(score.bias, "+"),
        "-" if score.rank is None else f"{score.rank:.2f}",
        "-" if score.skill is None else f"{score.skill:.2f}",
        "-" if score.coverage is None else f"{score.coverage:.0%}",
        "-" if score.width is None else f"{score.width:.3g}",
        "-" if score.interval_score is None else f"{score.interval_score:.3g}",
    ]


def _percent(fraction: float, sign: str = "") -> str:
    """Return a percentage short enough for a table, whatever a model says."""
    return f"{fraction:{sign}.1%}" if abs(fraction) < 10.0 else f"{fraction:{sign}.0e}"

"""A report for people: results, then models, then what may be claimed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.base.units import format_bytes, format_ns
from nearfar.documents.validation import KernelResult, ModelScore, ValidationReport
from nearfar.predict.model import DEFAULT_MODEL

if TYPE_CHECKING:
    from rich.console import Console

MOVED = 1.25
"""Of times between cores, the least ratio of two placements; see `placement`."""


def print_report(report: ValidationReport, console: Console) -> None:
    """Print tables of results and of models, then sentences."""
    from rich.table import Table

    console.print(_head(report), markup=False, highlight=False)
    shown = DEFAULT_MODEL if DEFAULT_MODEL in report.models else next(iter(report.models), "")
    table = Table(box=None, pad_edge=False)
    table.add_column("kernel or program", no_wrap=True)
    for heading in ("near", "slowdown", "A/A", shown, "interval", "error"):
        table.add_column(heading, justify="right", no_wrap=True)
    for result in sorted(report.results, key=lambda one: (one.what, one.name, one.session)):
        table.add_row(*_row(result, shown))
    console.print(table)
    console.print()
    table = Table(box=None, pad_edge=False)
    table.add_column("model", no_wrap=True)
    for heading in ("mean", "max", "bias", "rank", "skill", "cover", "width", "score"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, one in report.models.items():
        table.add_row(name, *_scores(one))
    console.print(table)
    for sentence in sentences(report):
        console.print(sentence, markup=False, highlight=False)


def sentences(report: ValidationReport) -> list[str]:
    """Return what has to be said beside the tables."""
    said = [
        "Errors are of time, predicted over measured.",
        f"A/A floor: the same measured twice differs by {report.floor:.1%} on average; no mean "
        "error below that can be claimed.",
    ]
    if report.between_sessions is not None:
        said.append(
            f"Between sessions, measured slowdowns differ from their median by "
            f"{report.between_sessions:.1%} on average."
        )
    said += _placements(report)
    best = next(iter(report.models.items()), None)
    if best is not None and best[1].mean_error <= report.floor:
        said.append(f"{best[0]} is within the floor: its error may be all noise.")
    if any(one.coverage is not None for one in report.models.values()):
        said.append(
            "Cover, width and score (Winkler's: width and misses, less is better) are of 90 % "
            "intervals of the slowdown, each calibrated on the other kernels."
        )
    said += [f"{name} predicted nothing: {why}" for name, why in report.lacking.items()]
    said += [f"warning: {text}" for text in report.warnings]
    if report.ended == "interrupted":
        said.append("Interrupted: this is of what was measured until then.")
    return said


def _placements(report: ValidationReport) -> list[str]:
    """Say where the cores were, if not always in one placement."""
    times_ns = sorted(one.hand_off_ns for one in report.results if one.hand_off_ns is not None)
    left_out = sum(one.left_out for one in report.results)
    if not times_ns or (left_out == 0 and times_ns[-1] < MOVED * times_ns[0]):
        return []
    taken = sum(len(one.far_samples_ns) for one in report.results)
    return [
        f"The hypervisor moved the cores: a line took {times_ns[0]:.0f} to {times_ns[-1]:.0f} ns "
        f"between them. Each result is of one placement; {left_out} of {taken + left_out} far "
        "samples were of others."
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


def _scores(one: ModelScore) -> list[str]:
    return [
        _percent(one.mean_error),
        _percent(one.max_error),
        _percent(one.bias, "+"),
        "-" if one.rank is None else f"{one.rank:.2f}",
        "-" if one.skill is None else f"{one.skill:.2f}",
        "-" if one.coverage is None else f"{one.coverage:.0%}",
        "-" if one.width is None else f"{one.width:.3g}",
        "-" if one.interval_score is None else f"{one.interval_score:.3g}",
    ]


def _percent(fraction: float, sign: str = "") -> str:
    """Return a percentage short enough for a table, whatever a model says."""
    return f"{fraction:{sign}.1%}" if abs(fraction) < 10.0 else f"{fraction:{sign}.0e}"

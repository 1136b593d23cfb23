"""Text of a CrashReport in a terminal."""

from __future__ import annotations

from rich.console import Console

from nearfar.crash.report.words import (
    code_text,
    lint_text,
    object_text,
    unfinished_text,
    verdict_text,
)
from nearfar.crash.symbols import name_of
from nearfar.documents.crash_report import CrashBug, CrashLine, CrashReport

_MAX_LINES = 4
_POINT_WORDS = {
    "fence": "before the fence in",
    "store": "after the store in",
    "operation": "at the end of an operation",
    "end": "at the end of the program",
    "call": "after the call in",
    "output": "after it printed something",
}


def print_report(report: CrashReport, console: Console) -> None:
    """Print bugs, lints and coverage."""

    def line(text: str, style: str = "") -> None:
        console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    head = "undecided" if report.undecided else "bug"
    for bug in [*report.bugs, *report.undecided]:
        line(f"{head} {bug.id}: {bug.symptom}, power cut {where(bug)}", "bold red")
        for text in details(bug):
            line(f"  {text}")
        if bug.replay:
            line(f"  nearfar crash replay {bug.replay}", "dim")
    for lint in report.lints:
        line(f"lint: {lint_text(lint)}", "yellow")
    of = "all" if report.points_explored == report.points else str(report.points_explored)
    line(
        f"{verdict_text(report)}; {of} of {report.points} failure points, "
        f"{report.states} states judged ({report.states_per_s:.0f}/s), {report.duplicates} more "
        "were the same"
    )
    line(_run(report))
    if report.code is not None:
        line(code_text(report.code))
    if report.known:
        line(f"{report.known} known bugs of the baseline left out")
    if why := unfinished_text(report):
        line(f"note: {why}", "yellow")
    for warning in report.warnings:
        line(f"note: {warning}", "yellow")


def where(bug: CrashBug) -> str:
    """Return when the power is cut."""
    if bug.at == "call" and not bug.frames:
        return "after a store through a mapping"
    place = f" {name_of(bug.frames)}" if bug.frames else ""
    operation = "" if bug.operation is None else f", operation {bug.operation}"
    return f"{_POINT_WORDS[bug.at]}{place}{operation}"


def details(bug: CrashBug) -> list[str]:
    """Return the lines that survived and that were lost, the cause and the checker's output."""
    torn = [line for line in bug.survived if line in bug.lost]
    whole = [line for line in bug.survived if line not in torn]
    missing = [line for line in bug.lost if line not in torn]
    rows = [f"in part:     {_line(line)}" for line in torn[:_MAX_LINES]]
    rows += [f"in memory:   {_line(line)}" for line in whole[:_MAX_LINES]]
    rows += [f"not yet:     {_line(line)}" for line in missing[:_MAX_LINES]]
    if not rows:
        rows.append("not yet:     nothing: all that was written until then is there")
    if bug.models:
        rows.append(f"models:      {', '.join(bug.models)}")
    if bug.cause:
        rows.append(f"cause:       {bug.cause}")
    if bug.said:
        rows.append(f"checker:     {bug.said.splitlines()[-1]}")
    if bug.found_states:
        rows.append(f"found:       after {bug.found_states} states, {bug.found_s:.2f} s")
    return rows


def _run(report: CrashReport) -> str:
    recorded = f"recorded in {report.record_s:.2f} s"
    if report.files is not None:
        run = report.files
        return (
            f"{run.operations} operations on files, {run.syncs} syncs, {run.outputs} outputs; "
            f"models {', '.join(run.models)}; {recorded}"
        )
    return (
        f"{report.stores} stores at {report.store_sites} places, {report.flushes} flushes, "
        f"{report.fences} fences at {report.fence_sites} places, {report.operations} operations; "
        f"{recorded}"
    )


def _line(line: CrashLine) -> str:
    if line.what:
        return f"{line.what} by {name_of(line.frames)}" if line.frames else line.what
    if line.survived in (0, line.stores):
        stores = ""
    else:
        stores = f", {line.survived} of {line.stores} stores"
    state = "flushed, not fenced" if line.flushed == line.stores else "not flushed"
    owner = "" if line.object is None else f", {object_text(line.object)}"
    return f"{line.offset:#x} stored by {name_of(line.frames)}{stores} ({state}){owner}"

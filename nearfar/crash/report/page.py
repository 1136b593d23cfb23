"""One HTML file in the style of `nearfar report`: no script, nothing fetched."""

from __future__ import annotations

from pathlib import Path

from nearfar.crash.lints._registry import LINTS, meaning
from nearfar.crash.report.terminal import details, where
from nearfar.crash.report.words import (
    bug_text,
    is_slow,
    lines_of,
    lint_text,
    source_of,
    timeline,
    unfinished_text,
    verdict_text,
)
from nearfar.crash.symbols import name_of
from nearfar.documents.crash_report import CrashReport
from nearfar.documents.workload import Frame
from nearfar.html.page import environment as page_environment


def page(report: CrashReport) -> str:
    """Return the page."""
    environment = page_environment(Path(__file__).parent)
    environment.globals |= {
        "details": details,
        "where": where,
        "bug_text": bug_text,
        "lint_text": lint_text,
        "unfinished_text": unfinished_text,
        "verdict_text": verdict_text,
        "is_slow": is_slow,
        "lines_of": lines_of,
        "meaning": lambda kind: meaning(LINTS.get(kind)),
        "stack": _stack,
        "source_of": source_of,
    }
    environment.filters["timeline"] = timeline
    program = Path(report.program[0]).name
    sections = [("answer", "Answer")]
    sections += [(f"bug-{bug.id}", f"Bug {bug.id}") for bug in [*report.bugs, *report.undecided]]
    sections += [("lints", "Lints"), ("coverage", "Coverage")]
    return environment.get_template("crash.html").render(
        report=report,
        title=f"{program}: what a power cut could leave",
        sections=[(*section, "") for section in sections],
        made=report.producer,
        command=" ".join(report.program),
        # The last folder is enough to tell files apart, and fits.
        short=lambda file: "/".join(file.split("/")[-2:]),
    )


def _stack(frames: list[Frame]) -> list[str]:
    return [name_of([frame]) for frame in frames]

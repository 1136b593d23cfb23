"""One HTML file in the style of `nearfar report`: no script, nothing fetched."""

from __future__ import annotations

from pathlib import Path

import jinja2
from markupsafe import Markup

from nearfar.crash.lints._registry import LINTS, meaning
from nearfar.crash.report.terminal import details, where
from nearfar.crash.report.words import bug_text, is_slow, lint_text
from nearfar.crash.sites import name_of
from nearfar.documents.crash_report import CrashReport
from nearfar.documents.workload import Frame

_HERE = Path(__file__).parent
_STYLE = _HERE.parents[1] / "html" / "page.css"


def page(report: CrashReport) -> str:
    """Return the page."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "details": details,
        "where": where,
        "bug_text": bug_text,
        "lint_text": lint_text,
        "is_slow": is_slow,
        "meaning": lambda kind: meaning(LINTS.get(kind)),
        "stack": _stack,
    }
    return environment.get_template(
        "page.html"
    ).render(
        report=report,
        css=Markup(_STYLE.read_text()),  # our own file
        command=" ".join(report.program),
        program=Path(report.program[0]).name,
        # The last folder is enough to tell files apart, and fits.
        short=lambda file: "/".join(file.split("/")[-2:]),
    )


def _stack(frames: list[Frame]) -> list[str]:
    return [name_of([frame]) for frame in frames]

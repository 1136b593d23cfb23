"""The page's figures, found by their HTML files.

A figure `foo` is `foo.html` (title, place to draw, caption; jinja2, gets `data`) and, if it needs
them, `foo.js` (calls `figure("foo", make)`; `ifChanged` where it is the same at every budget) and
`foo.css`. The first line of `foo.html` gives its
position on the page and its name in the navigation: ``{# 30 Budget #}``.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

_FIRST_LINE = re.compile(r"\{# (\d+) (.+) #\}")


class ReportFigure(msgspec.Struct, frozen=True, order=True):
    """One part of the page."""

    position: int
    name: str
    short: str
    """Name in the navigation."""


def _figure(path: Path) -> ReportFigure:
    match = _FIRST_LINE.match(path.read_text())
    if match is None:
        raise AssertionError(f"{path}: expected a first line such as {{# 30 Budget #}}")
    return ReportFigure(int(match[1]), path.stem, match[2])


FIGURES = tuple(sorted(_figure(path) for path in Path(__file__).parent.glob("*.html")))

CONTROLS_BEFORE = "slowdown"
"""Name of the figure above which the page has its controls; they stay at the top below it."""

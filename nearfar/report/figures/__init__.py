"""The page's figures in their order; this list is the only place that names them.

A figure `foo` is `foo.html` (title, place to draw, caption; jinja2, gets `data`), and where it
needs them `foo.js` (calls `figure("foo", make)`) and `foo.css`.
"""

from __future__ import annotations

import msgspec


class ReportFigure(msgspec.Struct, frozen=True):
    """One part of the page."""

    name: str
    short: str
    """Its name in the navigation."""


FIGURES = (
    ReportFigure("answer", "Answer"),
    ReportFigure("slowdown", "Slowdown"),
    ReportFigure("frontier", "Budget"),
    ReportFigure("alternatives", "Other ways"),
    ReportFigure("treemap", "Map"),
    ReportFigure("objects", "Objects"),
    ReportFigure("lines", "Source lines"),
    ReportFigure("live", "Over time"),
    ReportFigure("memories", "Memories"),
    ReportFigure("method", "Method"),
)

CONTROLS_BEFORE = "slowdown"
"""The controls stand above this figure and stick to the top from there on."""

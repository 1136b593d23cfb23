"""The page's figures in their order; this list is the only place that names them.

A figure `foo` is `foo.html` (title, place to draw, caption; jinja2, gets `data`), and where it
needs them `foo.js` (calls `figure("foo", make)`) and `foo.css`.
"""

from __future__ import annotations

import msgspec


class Figure(msgspec.Struct, frozen=True):
    """One part of the page."""

    name: str
    short: str
    """Its name in the navigation."""


FIGURES = (
    Figure("answer", "Answer"),
    Figure("slowdown", "Slowdown"),
    Figure("frontier", "Budget"),
    Figure("alternatives", "Other ways"),
    Figure("treemap", "Map"),
    Figure("objects", "Objects"),
    Figure("lines", "Source lines"),
    Figure("live", "Over time"),
    Figure("memories", "Memories"),
    Figure("method", "Method"),
)

CONTROLS_BEFORE = "slowdown"
"""The controls stand above this figure and stick to the top from there on."""

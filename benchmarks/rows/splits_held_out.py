"""Splits of three programs that were written after the rules, by someone who did not know these.

The rules of splits were those of commit db67293a. Lines and savings are compared as in `splits`.
"""

from __future__ import annotations

from benchmarks import Row
from benchmarks.rows.splits import compared

SECONDS = 240
LONG = True

PROGRAMS = {
    "connections.cpp": ("c++", 120),
    "routes.c": ("cc", 76),
    "page_index.c": ("cc", 88),
}


def rows() -> list[Row]:
    """Return the error of predicted lines, and how many savings are within their intervals."""
    return compared(PROGRAMS, "three held-out programs", "make benchmarks ONLY=splits_held_out")

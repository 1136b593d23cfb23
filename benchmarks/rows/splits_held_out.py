"""Splits of three programs that someone wrote who did not know the rules of splits.

They were held out until they were judged once, with the rules of commit db67293a (docs/fields.md).
They are known since, and `page_index.c` led to a change of the compiler pass. Lines and savings are
compared as in `splits`.
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
    return compared(
        PROGRAMS, "three programs held out until db67293a", "make benchmarks ONLY=splits_held_out"
    )

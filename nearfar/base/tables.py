"""Tables and sentences for the terminal, in one style for all verbs.

Cells and sentences are printed without markup, because a program's names may look like markup.
A cell that is a `Text` keeps its colours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

Cell = str | Text


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell]] = (),
    *,
    title: str = "",
    caption: str = "",
    right: slice | None = None,
    wrap: bool = True,
    edge: bool = True,
) -> Table:
    """Return a table of cells.

    Parameters
    ----------
    right
        Columns to align right, such as ``slice(1, None)``.
    wrap
        Whether cells may break into lines where the terminal is narrow.
    edge
        Whether there is space at both sides and lines above and below.
    """
    made = Table(
        *(Column(Text(column)) for column in columns),
        title=Text(title) if title else None,
        caption=Text(caption) if caption else None,
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=edge,
        pad_edge=edge,
    )
    for column in made.columns:
        column.no_wrap = not wrap
    for column in made.columns[right] if right else []:
        column.justify = "right"
    for row in rows:
        add_row(made, row)
    return made


def add_row(to: Table, cells: Iterable[Cell], style: str = "") -> None:
    """Add one row of cells to a table."""
    to.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells), style=style)


def say(console: Console, *sentences: str, style: str = "", wrap: bool = True) -> None:
    """Print sentences, one per line; without `wrap` each stays one line for scripts to read."""
    for sentence in sentences:
        console.print(sentence, style=style, markup=False, highlight=False, soft_wrap=not wrap)

"""Studies in the terminal: tables of published, ours and the difference; then the verdict."""

from __future__ import annotations

import os

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from nearfar.base.tables import say, table
from nearfar.documents.study import ComparisonTable, Reproduction, StudyResult
from nearfar_studies.compare import percent

NOTE_COLUMNS = 16
"""Minimum width of a long note; it breaks between words."""

UNBOUNDED_COLUMNS = 1000
"""Wider than any table here, to find the width that it would use."""


FILE_COLUMNS = 250
"""Width of a file or pipe: the widest table with all its rivals fits."""


def print_reproduction(reproduction: Reproduction, console: Console) -> None:
    """Print every study; to a file with every column, unless COLUMNS gives a width."""
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = FILE_COLUMNS
    for number, result in enumerate(reproduction.studies):
        if number:
            console.print()
        print_study(result, console)


def print_study(result: StudyResult, console: Console) -> None:
    """Print one study."""
    console.rule(f"{result.name}: {result.title}", align="left", style="dim")
    if result.skipped:
        say(console, f"skipped: {result.skipped}")
        return
    say(console, f"published: {result.source}")
    if result.inputs:
        say(console, f"ours: {result.inputs}")
    for compared in result.tables:
        fitting, left_out = _fitting(compared, console)
        console.print(fitting)
        if left_out:
            say(console, "  the values of the rivals by row need a wider terminal, or --json")
        for name, error in compared.errors.items():
            say(
                console,
                f"  {name}: mean error {percent(error.mean)}, max {percent(error.max)}, "
                f"bias {percent(error.bias, signed=True)} over {error.rows} figures",
            )
        if compared.note:
            say(console, f"  {compared.note}")
    for text in result.texts:
        console.print(table(text.columns, text.rows, title=text.title))
    for sentence in result.verdict:
        say(console, f"- {sentence}")
    if result.picture:
        say(console, f"drew {result.picture}")


def number(value: float | None) -> str:
    """Return a figure with four significant digits, or a dash."""
    return "-" if value is None else f"{value:.4g}"


def _fitting(compared: ComparisonTable, console: Console) -> tuple[Table, bool]:
    """Return the table, and whether rivals were omitted from its rows to fit the terminal."""
    rivals = list(dict.fromkeys(name for row in compared.rows for name in row.rivals))
    notes = min(NOTE_COLUMNS, max((len(row.note) for row in compared.rows), default=0))
    unbounded = console.options.update(max_width=UNBOUNDED_COLUMNS)
    required = Measurement.get(console, unbounded, _comparison(compared, rivals, 0)).maximum
    left_out = bool(rivals) and required + notes > console.width
    return _comparison(compared, [] if left_out else rivals, notes), left_out


def _comparison(compared: ComparisonTable, rivals: list[str], notes: int) -> Table:
    """Return the table; `notes` is the minimum width of the notes, 0 for none."""
    with_interval = any(row.low is not None for row in compared.rows)
    # The title may break; a table as wide as its title would be mostly blank.
    shown = Table(
        title=f"{compared.title} ({compared.cited}), {compared.unit}", title_justify="left"
    )
    shown.add_column("", no_wrap=not notes)
    for heading in ("published", "ours", "difference", *(["interval"] if with_interval else [])):
        shown.add_column(heading, justify="right", no_wrap=True)
    for name in rivals:
        shown.add_column("\n".join(map(escape, name.split())), justify="right", no_wrap=True)
    if notes:
        shown.add_column("note", min_width=notes)
    for row in compared.rows:
        cells = [row.what, number(row.published), number(row.ours)]
        cells.append("-" if row.difference is None else percent(row.difference, signed=True))
        if with_interval:
            cells.append("-" if row.low is None else f"{number(row.low)}..{number(row.high)}")
        cells += [number(row.rivals.get(name)) for name in rivals]
        if notes:
            cells.append(row.note)
        shown.add_row(*map(escape, cells))
    return shown

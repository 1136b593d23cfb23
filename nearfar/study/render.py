"""Studies in the terminal: tables of published, ours, difference; then the verdict."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nearfar.documents.study import ComparisonTable, Reproduction, StudyResult, TextTable
from nearfar.study.compare import percent


def print_reproduction(reproduction: Reproduction, console: Console) -> None:
    """Print every study."""
    for number, result in enumerate(reproduction.studies):
        if number:
            console.print()
        print_study(result, console)


def print_study(result: StudyResult, console: Console) -> None:
    """Print one study."""
    console.rule(f"{result.name}: {result.title}", align="left", style="dim")
    if result.skipped:
        _say(console, f"skipped: {result.skipped}")
        return
    _say(console, f"published: {result.source}")
    if result.inputs:
        _say(console, f"ours: {result.inputs}")
    for found in result.tables:
        console.print(_comparison(found))
        for name, error in found.errors.items():
            _say(
                console,
                f"  {name}: mean error {percent(error.mean)}, max {percent(error.max)}, "
                f"bias {percent(error.bias, signed=True)} over {error.rows} figures",
            )
        if found.note:
            _say(console, f"  {found.note}")
    for text in result.texts:
        console.print(_words(text))
    for sentence in result.verdict:
        _say(console, f"- {sentence}")
    if result.picture:
        _say(console, f"drew {result.picture}")


def number(value: float | None) -> str:
    """Return a figure with four significant digits, or a dash."""
    return "-" if value is None else f"{value:.4g}"


def _comparison(found: ComparisonTable) -> Table:
    rivals = list(dict.fromkeys(name for row in found.rows for name in row.rivals))
    with_interval = any(row.low is not None for row in found.rows)
    with_note = any(row.note for row in found.rows)
    table = Table(title=f"{found.title} ({found.cited}), {found.unit}", title_justify="left")
    table.add_column("")
    for heading in ("published", "ours", "difference"):
        table.add_column(heading, justify="right")
    if with_interval:
        table.add_column("interval", justify="right")
    for name in rivals:
        table.add_column(name, justify="right")
    if with_note:
        table.add_column("note")
    for row in found.rows:
        cells = [row.what, number(row.published), number(row.ours)]
        cells.append("-" if row.difference is None else percent(row.difference, signed=True))
        if with_interval:
            cells.append("-" if row.low is None else f"{number(row.low)}..{number(row.high)}")
        cells += [number(row.rivals.get(name)) for name in rivals]
        if with_note:
            cells.append(row.note)
        table.add_row(*map(escape, cells))
    return table


def _words(text: TextTable) -> Table:
    table = Table(*text.columns, title=text.title, title_justify="left", show_lines=True)
    for row in text.rows:
        table.add_row(*map(escape, row))
    return table


def _say(console: Console, sentence: str) -> None:
    console.print(sentence, markup=False, highlight=False)

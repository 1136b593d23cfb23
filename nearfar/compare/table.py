"""Print a comparison in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nearfar.base.tables import Cell, say, table
from nearfar.base.units import format_bytes, format_ns
from nearfar.documents.attribution import Attribution
from nearfar.documents.comparison import Change, Comparison

MAX_ROWS = 15
"""Rows of a family; all are in the document."""

MARKS = {
    "worse": "[red]worse[/red]",
    "better": "[green]better[/green]",
    "changed": "[yellow]changed[/yellow]",
    "same": "~",
    "only A": "only in A",
    "only B": "only in B",
    "not judged": "?",
}


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print tables by family, then the verdict; only one line if all values are equal."""
    if equal(comparison):
        a, b, count = comparison.a.file, comparison.b.file, len(comparison.changes)
        warnings = [f"warning: {warning}" for warning in comparison.warnings if a != b]
        say(console, f"{a} and {b}: all {count} values are equal", *warnings, wrap=False)
        return
    for letter, side in (("A", comparison.a), ("B", comparison.b)):
        many = f", {side.documents} documents" if side.documents > 1 else ""
        text = f"{letter} is {side.file}{many}: made {side.time_utc} on {side.host}"
        say(console, text, wrap=False)
    for family in comparison.families:
        changes = [change for change in comparison.changes if change.family == family]
        columns = [family, "A", "B", "change", "95 % interval", ""]
        console.print(table(columns, [_cells(change) for change in changes[:MAX_ROWS]]))
        if len(changes) > MAX_ROWS:
            say(console, f"and {len(changes) - MAX_ROWS} more of {family}: --json", wrap=False)
    for attribution in comparison.attributions:
        say(console, attributed(attribution), wrap=False)
        if attribution.causes:
            console.print(_causes(attribution))
    reasons = dict.fromkeys(
        change.note
        for change in comparison.changes
        if change.verdict == "not judged" and change.note
    )
    say(
        console,
        "~: chance alone explains the difference. ?: not judged",
        *(f"not judged: {reason}" for reason in reasons),
        *(f"warning: {warning}" for warning in comparison.warnings),
        verdict(comparison),
        wrap=False,
    )


def equal(comparison: Comparison) -> bool:
    """Return whether there are values, and all are equal on both sides."""
    changes = comparison.changes
    return bool(changes) and all(change.a == change.b for change in changes)


def attributed(attribution: Attribution) -> str:
    """Return both slowdowns on one far memory, and whether they agree."""
    a, b = (f"{e.value:.2f} ({e.low:.2f}-{e.high:.2f})" for e in (attribution.a, attribution.b))
    verdict = "within" if attribution.agree else "beyond"
    return f"{attribution.far}: A {a}, B {b}: the difference is {verdict} both intervals"


def _causes(attribution: Attribution) -> Table:
    rows = [[cause.input, cause.a, cause.b, f"{cause.effect:+.3f}"] for cause in attribution.causes]
    title = f"which input causes the difference of {attribution.b.value - attribution.a.value:+.3f}"
    return table([title, "A", "B", "effect"], rows)


def _cells(change: Change) -> list[Cell]:
    mark = MARKS[change.verdict] + (" [red]OVER[/red]" if change.over_limit else "")
    values = (number(change.a, change.unit), number(change.b, change.unit))
    return [change.name, *values, changed(change), interval(change), Text.from_markup(mark)]


def verdict(comparison: Comparison) -> str:
    """Return the last line: how many values are over the limit; without one, how many changed."""
    if comparison.limit is None:
        counts = {
            what: sum(change.verdict == what for change in comparison.changes)
            for what in ("worse", "better", "changed")
        }
        counted = [f"{count} {what}" for what, count in counts.items() if count]
        return f"of {len(comparison.changes)} values: {', '.join(counted) or 'none differs'}"
    over = f"worse than A's by more than {100 * comparison.limit:.3g} %"
    if comparison.failed:
        are = "value of B is" if comparison.failed == 1 else "values of B are"
        return f"{comparison.failed} {are} {over}"
    count = judged(comparison)
    if not count:
        return f"nothing was judged, so it is unknown whether a value of B is {over}"
    of = (
        f" ({count} of {len(comparison.changes)} were judged)"
        if count < len(comparison.changes)
        else ""
    )
    return f"no value of B is {over}{of}"


def judged(comparison: Comparison) -> int:
    """Return how many values were judged."""
    return sum(change.p is not None for change in comparison.changes)


def number(value: float | None, unit: str) -> str:
    """Return a value and its unit as text, "-" for None."""
    if value is None:
        return "-"
    if unit == "ns":
        return format_ns(value)
    if unit.startswith("bytes"):
        return format_bytes(value) + unit.removeprefix("bytes")
    if unit == "misses":
        return f"{value:,.0f}"
    return f"{value:.4g} {unit}"


def percent(value: float | None) -> str:
    """Return a relative change."""
    return "" if value is None else f"{100 * value:+.1f} %"


def changed(change: Change) -> str:
    """Return the relative change; for a part, also the change as a share of the total.

    Example: the globals of a large program shrink by 25 %, which is 0.1 % of its memory.
    """
    if not change.part or change.change is None:
        return percent(change.change)
    share = f"{percent(change.change)} of all"
    return share if change.own_change is None else f"{percent(change.own_change)}, {share}"


def interval(change: Change) -> str:
    """Return the interval of a change; for a part, relative to the total."""
    if change.low is None or change.high is None:
        return ""
    if change.low == change.high:
        return "exact"
    return f"{100 * change.low:+.1f} to {100 * change.high:+.1f} %" + (
        " of all" if change.part else ""
    )

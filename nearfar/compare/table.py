"""A comparison as people read it in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nearfar.base.units import format_bytes, format_ns
from nearfar.documents.comparison import Change, Comparison

SHOWN = 15
"""Lines of a family; all are in the document."""

MARKS = {
    "worse": "[red]worse[/red]",
    "better": "[green]better[/green]",
    "changed": "[yellow]changed[/yellow]",
    "same": "~",
    "only A": "only in A",
    "only B": "only in B",
    "not judged": "?",
}


def print_comparison(found: Comparison, console: Console) -> None:
    """Print tables by family, then what is over the limit."""
    plain = {"markup": False, "highlight": False, "soft_wrap": True}
    for letter, side in (("A", found.a), ("B", found.b)):
        many = f", {side.documents} documents" if side.documents > 1 else ""
        console.print(
            f"{letter} is {side.file}{many}: made {side.time_utc} on {side.host}",
            **plain,  # type: ignore[arg-type]
        )
    for family in found.families:
        changes = [one for one in found.changes if one.family == family]
        table = Table(escape(family), "A", "B", "change", "95 % interval", "")
        for one in changes[:SHOWN]:
            mark = MARKS[one.verdict] + (" [red]OVER[/red]" if one.over_limit else "")
            table.add_row(
                escape(one.name),
                number(one.a, one.unit),
                number(one.b, one.unit),
                changed(one),
                interval(one),
                mark,
            )
        console.print(table)
        left = len(changes) - SHOWN
        if left > 0:
            console.print(f"and {left} more of {family}: --json", **plain)  # type: ignore[arg-type]
    console.print("~: no more than chance explains. ?: not judged", **plain)  # type: ignore[arg-type]
    for reason in dict.fromkeys(
        one.note for one in found.changes if one.verdict == "not judged" and one.note
    ):
        console.print(f"not judged: {reason}", **plain)  # type: ignore[arg-type]
    for warning in found.warnings:
        console.print(f"warning: {warning}", **plain)  # type: ignore[arg-type]
    console.print(verdict(found), **plain)  # type: ignore[arg-type]


def verdict(found: Comparison) -> str:
    """Return the last line: what fails, or what changed."""
    if found.limit is None:
        counts = {
            what: sum(one.verdict == what for one in found.changes)
            for what in ("worse", "better", "changed")
        }
        said = [f"{count} {what}" for what, count in counts.items() if count]
        return f"of {len(found.changes)} figures: {', '.join(said) or 'none differs'}"
    over = f"worse than A's by more than {100 * found.limit:.3g} %"
    if found.failed:
        return f"{found.failed} figures of B are {over}"
    count = judged(found)
    if not count:
        return f"nothing was judged, so nothing says whether a figure of B is {over}"
    of = f" ({count} of {len(found.changes)} were judged)" if count < len(found.changes) else ""
    return f"no figure of B is {over}{of}"


def judged(found: Comparison) -> int:
    """Return how many figures were judged."""
    return sum(one.p is not None for one in found.changes)


def number(value: float | None, unit: str) -> str:
    """Return a value with its unit."""
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


def changed(one: Change) -> str:
    """Return how much changed; of a part its own change, and beside it what that is of the whole.

    The globals of a large program may shrink by a quarter, which is next to nothing of its memory.
    """
    if not one.part or one.change is None:
        return percent(one.change)
    share = f"{percent(one.change)} of all"
    return share if one.own_change is None else f"{percent(one.own_change)}, {share}"


def interval(one: Change) -> str:
    """Return the interval of a change, which of a part is of its share of the whole."""
    if one.low is None or one.high is None:
        return ""
    if one.low == one.high:
        return "exact"
    return f"{100 * one.low:+.1f} to {100 * one.high:+.1f} %" + (" of all" if one.part else "")

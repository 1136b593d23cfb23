"""Write a comparison as a page: A and B side by side, always in the same two colours."""

from __future__ import annotations

from nearfar.compare.table import attributed, changed, interval, judged, number, verdict
from nearfar.documents.comparison import Change, Comparison, Side
from nearfar.html.page import page, table, text

MAX_ROWS = 200
"""Rows of a family: a page of 10,000 rows is slow to open."""

HEADS = (
    *(("", False), ("A", True), ("B", True), ("", False)),
    *(("change", True), ("95 % interval", True), ("", False)),
)

CAUSE_HEADS = (("input", False), ("A", False), ("B", False), ("effect on the slowdown", True))


def render(comparison: Comparison) -> str:
    """Return the page."""
    sections = [("answer", "What changed", _answer(comparison))]
    sections += [
        (f"family-{i}", family.capitalize(), _family(comparison, family))
        for i, family in enumerate(comparison.families)
    ]
    if comparison.attributions:
        causes = ("causes", "Which inputs make the difference", _attributions(comparison))
        sections.insert(1, causes)
    return page(f"{comparison.a.file} and {comparison.b.file}", sections, comparison.producer)


def _answer(comparison: Comparison) -> str:
    warnings = "".join(f"<li>{text(warning)}</li>" for warning in comparison.warnings)
    over = "".join(
        f'<li><span class="worse">{text(change.family)}: {text(change.name)}</span> '
        f"{text(changed(change))} ({text(interval(change))})</li>"
        for change in comparison.changes
        if change.over_limit
    )
    return (
        f'<p class="headline">{text(verdict(comparison))}.</p>'
        + (f"<ul>{over}</ul>" if over else "")
        + f'<div class="sides">{_side("A", comparison.a)}{_side("B", comparison.b)}</div>'
        f'<p class="small quiet">{judged(comparison)} values were judged, with a correction for '
        f"their number ({text(comparison.correction)}). “same” means: chance explains the "
        "difference. Intervals are of the change, 95 %, by bootstrap where there are repetitions. "
        "For an object or a line, the second change is its share of all of A; interval and limit "
        "are of that share.</p>" + (f"<h3>Warnings</h3><ul>{warnings}</ul>" if warnings else "")
    )


def _side(letter: str, side: Side) -> str:
    css = letter.lower()
    many = f" ({side.documents} documents)" if side.documents > 1 else ""
    return (
        f'<div class="card"><div class="bar {css}"></div><h3><span class="{css}-ink">{letter}'
        f"</span> {text(side.file)}{many}</h3><p class='small'>{text(side.kind)}, made "
        f"{text(side.time_utc)}</p><p class='small'>on {text(side.host)} ({text(side.cpu_model)}) "
        f"by nearfar {text(side.nearfar_version)}</p><p class='small'><code>{text(side.command)}"
        "</code></p></div>"
    )


def _attributions(comparison: Comparison) -> str:
    """Return the causes of the difference of two predictions, by far memory."""
    parts = []
    for attribution in comparison.attributions:
        parts.append(f"<h3>{text(attributed(attribution))}</h3>")
        rows = [
            ("", [text(cause.input), text(cause.a), text(cause.b), f"{cause.effect:+.3f}"])
            for cause in attribution.causes
        ]
        parts.append(table(CAUSE_HEADS, rows) if rows else "")
    return "".join(parts)


def _family(comparison: Comparison, family: str) -> str:
    changes = [change for change in comparison.changes if change.family == family]
    longest = max(
        (abs(v) for change in changes for v in (change.a, change.b) if v is not None), default=0.0
    )
    rows = [
        ("over" if change.over_limit else "", _row(change, longest if longest > 0 else 1.0))
        for change in changes[:MAX_ROWS]
    ]
    left = len(changes) - MAX_ROWS
    more = f'<p class="small quiet">and {left} more, in the JSON</p>' if left > 0 else ""
    return table(HEADS, rows) + more


def _row(change: Change, longest: float) -> list[str]:
    bars = "".join(
        f'<div class="bar {css}" style="width:{100 * abs(value or 0.0) / longest:.2f}%"></div>'
        for css, value in (("a", change.a), ("b", change.b))
    )
    css = change.verdict if change.verdict in ("worse", "better") else "quiet"
    note = f'<br><span class="small quiet">{text(change.note)}</span>' if change.note else ""
    return [
        f'<span class="name">{text(change.name)}</span>{note}',
        text(number(change.a, change.unit)),
        text(number(change.b, change.unit)),
        f'<div class="bars" aria-hidden="true">{bars}</div>',
        text(changed(change)),
        text(interval(change)),
        f'<span class="{css}">{text(change.verdict)}</span>',
    ]

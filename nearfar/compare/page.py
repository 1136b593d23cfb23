"""A comparison as a page: A and B beside each other, in two colours that never change."""

from __future__ import annotations

from nearfar.compare.table import changed, interval, judged, number, verdict
from nearfar.documents.comparison import Change, Comparison, Side
from nearfar.html.page import page, table, text

MOST = 200
"""Rows of a family: more nobody reads, and a page of 10,000 lines is slow to open."""

HEADS = (
    *(("", False), ("A", True), ("B", True), ("", False)),
    *(("change", True), ("95 % interval", True), ("", False)),
)


def render(found: Comparison) -> str:
    """Return the page."""
    sections = [("answer", "What changed", _answer(found))]
    sections += [
        (f"family-{i}", family.capitalize(), _family(found, family))
        for i, family in enumerate(found.families)
    ]
    return page(f"{found.a.file} and {found.b.file}", sections, found.producer)


def _answer(found: Comparison) -> str:
    warnings = "".join(f"<li>{text(one)}</li>" for one in found.warnings)
    over = "".join(
        f'<li><span class="worse">{text(one.family)}: {text(one.name)}</span> '
        f"{text(changed(one))} ({text(interval(one))})</li>"
        for one in found.changes
        if one.over_limit
    )
    return (
        f'<p class="headline">{text(verdict(found))}.</p>'
        + (f"<ul>{over}</ul>" if over else "")
        + f'<div class="sides">{_side("A", found.a)}{_side("B", found.b)}</div>'
        f'<p class="small quiet">{judged(found)} figures were judged, corrected for being so many '
        f"({text(found.correction)}). “same” says that chance alone explains the difference; an "
        "interval is of the change, 95 %, by bootstrap where there are repetitions. Beside an "
        "object’s or a line’s own change stands what it is of all of A; interval and limit are of "
        "that.</p>" + (f"<h3>To know</h3><ul>{warnings}</ul>" if warnings else "")
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


def _family(found: Comparison, family: str) -> str:
    changes = [one for one in found.changes if one.family == family]
    longest = max((abs(v) for one in changes for v in (one.a, one.b) if v is not None), default=0.0)
    rows = [
        ("over" if one.over_limit else "", _row(one, longest if longest > 0 else 1.0))
        for one in changes[:MOST]
    ]
    left = len(changes) - MOST
    more = f'<p class="small quiet">and {left} more, in the JSON</p>' if left > 0 else ""
    return table(HEADS, rows) + more


def _row(one: Change, longest: float) -> list[str]:
    bars = "".join(
        f'<div class="bar {css}" style="width:{100 * abs(value or 0.0) / longest:.2f}%"></div>'
        for css, value in (("a", one.a), ("b", one.b))
    )
    css = one.verdict if one.verdict in ("worse", "better") else "quiet"
    note = f'<br><span class="small quiet">{text(one.note)}</span>' if one.note else ""
    return [
        f'<span class="name">{text(one.name)}</span>{note}',
        text(number(one.a, one.unit)),
        text(number(one.b, one.unit)),
        f'<div class="bars" aria-hidden="true">{bars}</div>',
        text(changed(one)),
        text(interval(one)),
        f'<span class="{css}">{text(one.verdict)}</span>',
    ]

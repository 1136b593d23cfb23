"""Write a fleet as a page: the answer, host types, savings, prices, data."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.base.units import format_bytes
from nearfar.documents.fleet import Fleet, HostType
from nearfar.fleet.paged import MAX_PROFILES
from nearfar.fleet.table import beside_rows, headline, no_objects, omissions
from nearfar.html.page import page, table, text

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 900, 300, 52, 40, 34
COLOURS = 8
"""Colours of the report's palette."""


def render(fleet: Fleet) -> str:
    """Return the page."""
    sections = [
        ("answer", "What far memory would save", _answer(fleet)),
        ("types", "Host types", _types(fleet)),
        ("mixes", "The cheapest mix", _mixes(fleet)),
        *([("beside", "Other far memories", _beside(fleet))] if fleet.beside else []),
        ("prices", "If prices change", _prices(fleet)),
        ("objects", "Where far memory costs least", _objects(fleet)),
        ("method", "How this was computed", _method(fleet)),
    ]
    return page(f"A fleet on {fleet.far}", sections, fleet.producer)


def _answer(fleet: Fleet) -> str:
    items = "".join(f"<li>{text(item)}</li>" for item in fleet.warnings)
    items += "".join(f"<li>left out: {text(row)}</li>" for row in omissions(fleet))
    lines = [
        (f"{saving.most_slowdown:g}×", [(saving.most_slowdown, saving.saved)])
        for saving in fleet.savings
    ]
    bars = "".join(
        f'<tr><td>within {text(label)}</td><td class="bars"><div class="bar a" '
        f'style="width:{max(points[0][1], 0) * 100:.2f}%"></div></td>'
        f'<td class="number">{points[0][1]:.1%}</td></tr>'
        for label, points in lines
    )
    return (
        f'<p class="headline">{text(headline(fleet))}.</p><div class="card"><table><tbody>{bars}'
        "</tbody></table></div>"
        f'<p class="small quiet">Saved share of the cost of all memory near: '
        f"{format_bytes(fleet.footprint_bytes)} of programs' data in {fleet.profiles:,} profiles, "
        f"{fleet.cpu_seconds:,.0f} s of CPU time.</p>" + (f"<ul>{items}</ul>" if items else "")
    )


def _types(fleet: Fleet) -> str:
    series = [
        (item.name, [(p.far_share, p.slowdown_mean) for p in item.curve])
        for item in fleet.types[:COLOURS]
    ]
    heads = (
        *(("host type", False), ("hosts", True), ("profiles", True), ("memory", True)),
        *(("25 % far", True), ("50 % far", True), ("all far", True)),
    )
    rows = [("", _type_row(item)) for item in fleet.types]
    far = "The data of each program with the least cost per byte is far."
    if fleet.paged:
        far = "The part of each program's pages beyond its limit is far."
    return (
        chart(series, x="share of memory that is far", y="slowdown, mean of CPU time")
        + table(heads, rows)
        + '<p class="small quiet">Slowdown: the mean of the CPU time, and in brackets that of the '
        f"95th of 100 profiles. {far}</p>"
    )


def _type_row(item: HostType) -> list[str]:
    points = {point.far_share: point for point in item.curve}
    shown = [points[share] for share in (0.25, 0.5, 1.0)]
    return [
        text(item.name),
        f"{item.count:,}",
        f"{item.profiles:,}",
        format_bytes(item.memory_bytes),
        *(f"{p.slowdown_mean:.2f} ({p.slowdown_p95:.2f})" for p in shown),
    ]


WITHIN = {"value": "every program within", "high": "every program's interval within"}
"""Headings of the limits: what of each program keeps them."""


def _mixes(fleet: Fleet) -> str:
    heads = (
        *((WITHIN[fleet.slo_by], False), ("host type", False), ("hosts", True)),
        *(("far share", True), ("saved", True)),
    )
    rows = [
        (
            "",
            [
                f"{saving.most_slowdown:g}×",
                text(mix.host_type),
                f"{mix.hosts:,}",
                f"{mix.far_share:.0%}",
                f"{saving.saved:.1%}",
            ],
        )
        for saving in fleet.savings
        for mix in saving.mixes
    ]
    return table(heads, rows) + (
        '<p class="small quiet">Programs are assumed to run on hosts whose share of far memory '
        "they tolerate: the hosts of a type with a share are at most the part of its demand that "
        "keeps the limit with it. Computed by HiGHS, to a thousandth of the cost.</p>"
    )


def _beside(fleet: Fleet) -> str:
    limits = [(f"within {saving.most_slowdown:g}×", True) for saving in fleet.savings]
    rows = [("", [text(name), *cells]) for name, cells in beside_rows(fleet)]
    return table((("far memory", False), *limits), rows) + (
        '<p class="small quiet">Saved share of the cost of all memory near, and the share of the '
        "fleet's memory that is far.</p>"
    )


def _prices(fleet: Fleet) -> str:
    series = [
        (f"within {limit}×", [(p.far_over_near, p.saved[limit]) for p in fleet.sensitivity])
        for limit in (fleet.sensitivity[0].saved if fleet.sensitivity else {})
    ]
    even = "".join(
        f"<li>within {text(limit)}×: nothing is saved where far memory costs more than "
        f"{ratio:.0%} of near memory</li>"
        for limit, ratio in fleet.break_even.items()
    )
    return (
        chart(series, x="price of far over near memory, per byte", y="share of the cost saved")
        + f"<ul>{even}</ul>"
    )


def _objects(fleet: Fleet) -> str:
    if not fleet.objects:
        because = no_objects(fleet)
        return f'<p class="empty">{text(because[:1].upper() + because[1:])}.</p>'
    heads = (
        *(("data", False), ("program", False), ("profiles", True)),
        *(("bytes", True), ("adds to CPU time", True)),
    )
    rows = [
        (
            "",
            [
                f'<span class="name">{text(item.object)}</span>',
                text(item.program),
                f"{item.profiles:,}",
                format_bytes(item.bytes),
                f"{item.slowdown_cost:.3%}",
            ],
        )
        for item in fleet.objects
    ]
    return table(heads, rows) + (
        '<p class="small quiet">Objects of one name and program, over all profiles; those with a '
        "thousandth of the fleet's data or more. Least cost per byte first.</p>"
    )


def _method(fleet: Fleet) -> str:
    quick = fleet.quick_form
    how = (
        f"<p>A fleet is summed, not predicted profile by profile. {quick.profiles} profiles were "
        f"predicted in full as well: their added times are {quick.factor:.2f} times those of the "
        "sums, in the median, and the sums on this page were multiplied by that. Of single "
        f"profiles, 8 in 10 lie between {quick.low:.2f} and {quick.high:.2f} times.</p>"
    )
    if fleet.paged:
        how = (
            f"<p>Each profile was predicted by itself (at most {MAX_PROFILES:,} of each type; the "
            "others are taken to be like them).</p>"
        )
    return how + (
        f"<p>Near memory: {text(', '.join(sorted({item.near for item in fleet.types})))}. Prices: "
        f"far {fleet.far_price_per_gib:g}, an adapter {fleet.adapter_price:g} "
        f"{text(fleet.currency)}; near as in the table of hosts.</p>"
    )


def chart(series: Sequence[tuple[str, Sequence[tuple[float, float]]]], *, x: str, y: str) -> str:
    """Return lines as SVG: the page has no script."""
    points = [point for _, line in series for point in line]
    if not points:
        return '<p class="empty">Nothing to show.</p>'
    left, right = min(p[0] for p in points), max(p[0] for p in points)
    low, high = min(p[1] for p in points), max(p[1] for p in points)
    if high - low < 1e-9:
        high = low + 1.0

    def at(point: tuple[float, float]) -> str:
        across = (point[0] - left) / max(right - left, 1e-9)
        up = (point[1] - low) / (high - low)
        down = HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - TOP)
        return f"{LEFT + across * (WIDTH - LEFT - 8):.1f},{down:.1f}"

    ticks = [low + (high - low) * i / 4 for i in range(5)]
    grid = "".join(
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - 8}" y1="{y_at}" y2="{y_at}"/>'
        f'<text x="{LEFT - 6}" y="{float(y_at) + 4:.1f}" text-anchor="end">{tick:.2f}</text>'
        for tick in ticks
        for y_at in [at((left, tick)).partition(",")[2]]
    )
    below = "".join(
        f'<text x="{at((value, low)).partition(",")[0]}" y="{HEIGHT - BOTTOM + 16}" '
        f'text-anchor="middle">{value:g}</text>'
        for value in (left + (right - left) * i / 4 for i in range(5))
    )
    lines = "".join(
        f'<polyline fill="none" stroke="var(--c{i % COLOURS})" stroke-width="2" '
        f'points="{" ".join(at(point) for point in line)}"/>'
        for i, (_, line) in enumerate(series)
    )
    legend = "".join(
        f'<li><span class="swatch" style="background:var(--c{i % COLOURS})"></span>{text(name)}'
        "</li>"
        for i, (name, _) in enumerate(series)
    )
    return (
        f'<figure class="card"><div class="chart"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{text(y)} by {text(x)}">{grid}{below}{lines}'
        f'<text x="{WIDTH - 8}" y="{HEIGHT - 2}" text-anchor="end">{text(x)}</text>'
        f'<text x="4" y="14">{text(y)}</text></svg></div><ul class="legend">{legend}</ul></figure>'
    )

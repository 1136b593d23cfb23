"""Print a fleet in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from nearfar.base.tables import say, table
from nearfar.base.units import format_bytes, format_count
from nearfar.documents.fleet import Fleet, HostType

MAX_OBJECTS_SHOWN = 10
LIMITED = {"value": "predicted at most", "high": "high end at most"}
"""Headings of the limits: what of each program keeps them."""
SHARES_SHOWN = (0.25, 0.5, 0.75, 1.0)


def print_fleet(fleet: Fleet, console: Console) -> None:
    """Print host types, savings, the cheapest data."""
    say(console, headline(fleet), wrap=False)
    console.print(
        table(
            ["host type", "hosts", "memory", *(f"{share:.0%} far" for share in SHARES_SHOWN)],
            [
                [kind.name, f"{kind.count:,}", format_bytes(kind.memory_bytes), *_slowdowns(kind)]
                for kind in fleet.types
            ],
        )
    )
    say(console, "slowdown: mean of the CPU time, and of the 95th of 100 profiles")
    console.print(
        table(
            [LIMITED[fleet.slo_by], "saved", "cost", "far memory", "mix"],
            [
                [
                    f"{saving.most_slowdown:g} x",
                    f"{saving.saved:.1%}",
                    f"{saving.cost:,.0f} {fleet.currency}",
                    format_bytes(saving.far_bytes),
                    "; ".join(
                        f"{mix.hosts:,} {mix.host_type} at {mix.far_share:.0%}"
                        for mix in saving.mixes
                    ),
                ]
                for saving in fleet.savings
            ],
        )
    )
    if fleet.beside:
        console.print(_beside(fleet))
    if fleet.objects:
        console.print(_cheapest(fleet))
    else:
        say(console, no_objects(fleet), style="dim")
    say(console, *(f"warning: {warning}" for warning in fleet.warnings), wrap=False)
    say(console, *(f"left out: {row}" for row in omissions(fleet)))


def omissions(fleet: Fleet) -> list[str]:
    """Return a phrase for each reason why files were left out."""
    return [
        f"{format_count(count, 'file')}, {'which' if count == 1 else 'each of which'} {why}"
        for why, count in fleet.left_out.items()
    ]


def _beside(fleet: Fleet) -> Table:
    limits = [f"{saving.most_slowdown:g} x" for saving in fleet.savings]
    return table(["far memory", *limits], [[name, *cells] for name, cells in beside_rows(fleet)])


def beside_rows(fleet: Fleet) -> list[tuple[str, list[str]]]:
    """Return what each far memory saves at each limit, and how much of the memory is far."""
    memories = [(fleet.far, fleet.savings), *((row.far, row.savings) for row in fleet.beside)]
    whole = max(sum(kind.count * kind.memory_bytes for kind in fleet.types), 1)
    return [
        (name, [f"saves {row.saved:.1%}, {row.far_bytes / whole:.0%} far" for row in savings])
        for name, savings in memories
    ]


def _cheapest(fleet: Fleet) -> Table:
    return table(
        ["cheapest far", "program", "profiles", "bytes", "adds"],
        [
            [
                cheap.object,
                cheap.program,
                f"{cheap.profiles:,}",
                format_bytes(cheap.bytes),
                f"{cheap.slowdown_cost:.3%}",
            ]
            for cheap in fleet.objects[:MAX_OBJECTS_SHOWN]
        ],
    )


def no_objects(fleet: Fleet) -> str:
    """Return why no objects are listed."""
    if fleet.paged:
        return "far memory is moved in pages: the kernel chooses the data"
    return "no object has a thousandth of the fleet's data"


def _slowdowns(kind: HostType) -> list[str]:
    points = {point.far_share: point for point in kind.curve}
    return [
        f"{points[share].slowdown_mean:.2f} ({points[share].slowdown_p95:.2f})"
        for share in SHARES_SHOWN
    ]


def headline(fleet: Fleet) -> str:
    """Return the answer in a sentence."""
    best = max(fleet.savings, key=lambda saving: saving.saved, default=None)
    profiles, hosts = format_count(fleet.profiles, "profile"), format_count(fleet.hosts, "host")
    profiled = f"{profiles} of {hosts} on {fleet.far}"
    if best is None or best.saved <= 1e-9:
        return f"{profiled}: no mix saves anything at these prices and limits"
    first = next(saving for saving in fleet.savings if saving.saved > 1e-9)
    what = "every program" if fleet.slo_by == "value" else "every program's interval"
    sentence = f"{profiled}: {first.saved:.1%} of the memory's cost saved with {what} within "
    sentence += f"{first.most_slowdown:g} x"
    if first is not best:
        sentence += f", {best.saved:.1%} within {best.most_slowdown:g} x"
    return sentence

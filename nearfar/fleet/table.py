"""A fleet as people read it in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nearfar.base.units import format_bytes
from nearfar.documents.fleet import Fleet

SHOWN = 10
SHARES_SHOWN = (0.25, 0.5, 0.75, 1.0)


def print_fleet(found: Fleet, console: Console) -> None:
    """Print host types, savings, the cheapest data."""
    console.print(headline(found), markup=False, highlight=False, soft_wrap=True)
    types = Table("host type", "hosts", "memory", *(f"{s:.0%} far" for s in SHARES_SHOWN))
    for one in found.types:
        points = {point.far_share: point for point in one.curve}
        types.add_row(
            escape(one.name),
            f"{one.count:,}",
            format_bytes(one.memory_bytes),
            *(
                f"{points[s].slowdown_mean:.2f} ({points[s].slowdown_p95:.2f})"
                for s in SHARES_SHOWN
            ),
        )
    console.print(types)
    console.print("slowdown: mean of the CPU time, and of the 95th of 100 profiles", markup=False)
    savings = Table("at most", "saved", "cost", "far memory", "mix")
    for saving in found.savings:
        mixes = [f"{m.hosts:,} {m.host_type} at {m.far_share:.0%}" for m in saving.mixes]
        savings.add_row(
            f"{saving.most_slowdown:g} x",
            f"{saving.saved:.1%}",
            f"{saving.cost:,.0f} {escape(found.currency)}",
            format_bytes(saving.far_bytes),
            escape("; ".join(mixes)),
        )
    console.print(savings)
    objects = Table("cheapest to have far", "program", "profiles", "bytes", "adds")
    for thing in found.objects[:SHOWN]:
        objects.add_row(
            escape(thing.object),
            escape(thing.program),
            f"{thing.profiles:,}",
            format_bytes(thing.bytes),
            f"{thing.slowdown_cost:.3%}",
        )
    console.print(objects)
    for warning in found.warnings:
        console.print(f"warning: {warning}", markup=False, highlight=False, soft_wrap=True)
    for why, count in found.left_out.items():
        console.print(f"left out: {count:,} files: {why}", markup=False, highlight=False)


def headline(found: Fleet) -> str:
    """Return the answer in a sentence."""
    best = max(found.savings, key=lambda saving: saving.saved, default=None)
    said = f"{found.profiles:,} profiles of {found.hosts:,} hosts on {found.far}"
    if best is None or best.saved <= 1e-9:
        return f"{said}: no mix saves anything at these prices and limits"
    first = next(saving for saving in found.savings if saving.saved > 1e-9)
    sentence = f"{said}: {first.saved:.1%} of the memory's cost saved with every program within "
    sentence += f"{first.most_slowdown:g} x"
    if first is not best:
        sentence += f", {best.saved:.1%} within {best.most_slowdown:g} x"
    return sentence

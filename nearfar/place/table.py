"""A plan as text for the terminal. Numbers come from the document alone."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nearfar.base.units import format_bytes, format_ns
from nearfar.documents import Plan

TOP_OBJECTS = 12
"""Objects shown of each memory; the document lists all."""


def print_plan(plan: Plan, console: Console) -> None:
    """Print the bars, what stays near, and the caveats."""
    share = plan.budget_bytes / plan.footprint_bytes if plan.footprint_bytes else 1.0
    of_all = f"{share:.0%} of" if share <= 1.0 else "more than all"
    console.print(
        f"Budget {format_bytes(plan.budget_bytes)} of {plan.near} ({of_all} "
        f"{format_bytes(plan.footprint_bytes)}), the rest in {plan.far}; phase {plan.phase}",
        markup=False,
        highlight=False,
    )
    console.print(_bars(plan))
    console.print(_objects(plan))
    for caveat in plan.caveats:
        console.print(f"- {caveat}", markup=False, highlight=False)


def _bars(plan: Plan) -> Table:
    prices = plan.prices
    table = Table(
        "placement",
        "near memory",
        "time",
        "slowdown (90 %)",
        "cost",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        caption=f"cost: price of the memory over all near, a byte near being "
        f"{prices.near_per_byte:g} and far {prices.far_per_byte:g} ({escape(prices.source)})",
        caption_justify="left",
    )
    for bar in plan.alternatives:
        slow = bar.slowdown
        table.add_row(
            bar.name,
            format_bytes(bar.near_bytes),
            format_ns(bar.time_ns.value),
            f"{slow.value:.2f} ({slow.low:.2f}-{slow.high:.2f})",
            f"{bar.cost_relative:.0%}",
        )
    return table


def _objects(plan: Plan) -> Table:
    table = Table(
        "memory", "object", "size", "adds if far", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for memory in ("near", "far"):
        placed = [row for row in plan.placements if row.memory == memory]
        placed.sort(key=lambda row: -row.added_ns_if_far.value)
        for row in placed[:TOP_OBJECTS]:
            table.add_row(
                memory,
                escape(row.name),
                format_bytes(row.size_bytes),
                format_ns(row.added_ns_if_far.value),
            )
        if len(placed) > TOP_OBJECTS:
            rest = placed[TOP_OBJECTS:]
            table.add_row(
                memory,
                f"{len(rest)} more",
                format_bytes(sum(row.size_bytes for row in rest)),
                format_ns(sum(row.added_ns_if_far.value for row in rest)),
            )
    return table

"""A plan as tables for the terminal, from the document alone."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from nearfar.base.tables import say, table
from nearfar.base.units import format_bytes, format_ns
from nearfar.documents import Plan
from nearfar.documents.plan import NEAR, Placement, PlanMemory, RunCost

MAX_OBJECTS = 12
"""Objects shown for each memory; the document lists all."""
MAX_RANGES = 4
"""Ranges of an object shown; the document lists all."""
MIB = 1 << 20


def print_plan(plan: Plan, console: Console) -> None:
    """Print the bars, where objects go, and the caveats."""
    say(console, *_head(plan))
    console.print(_bars(plan))
    if len(plan.memories) > 2:
        console.print(_memories(plan))
    console.print(_objects(plan))
    if plan.phases:
        console.print(_moves(plan))
    say(console, *(f"- {caveat}" for caveat in [*_undecided(plan), *plan.caveats]))
    if plan.run_cost is not None:
        say(console, _run_cost(plan.run_cost))
    if plan.noise is not None:
        say(console, f"Noise: {plan.noise.sentence}")


def _run_cost(cost: RunCost) -> str:
    saved = f"{format_ns(cost.saved_ns)} of all-far's time"
    if abs(cost.saved_ns) < 1.0:
        compared = "the plan saves nothing of all-far's time"
    elif cost.saved_ns < 0.0:
        compared = f"the plan takes {format_ns(-cost.saved_ns)} more than all-far"
    elif cost.total_ns <= cost.saved_ns:
        compared = f"the plan saves {saved}"
    else:
        compared = f"more than the {saved} that the plan saves"
    verb = "adds" if cost.total_ns >= 0 else "saves"
    return (
        f"nearfar run itself {verb} {format_ns(abs(cost.total_ns))} of CPU time, measured here: "
        f"{format_ns(cost.start_ns)} for each process, {cost.near_block_ns:+.1f} ns for each of "
        f"{cost.near_blocks:,.0f} near blocks and {cost.far_block_ns:+.1f} ns for each of "
        f"{cost.far_blocks:,.0f} far ones, over the C library's malloc; {compared}"
    )


def _head(plan: Plan) -> list[str]:
    share = plan.budget_bytes / plan.footprint_bytes if plan.footprint_bytes else 1.0
    of_all = f"{share:.0%} of" if share <= 1.0 else "more than all"
    fars = [memory.device for memory in plan.memories[1:]] or [plan.far]
    lines = [
        f"Budget {format_bytes(plan.budget_bytes)} of {plan.near} ({of_all} "
        f"{format_bytes(plan.footprint_bytes)}), the rest in {', '.join(fars)}; phase {plan.phase}"
    ]
    if plan.goal is not None:
        judged = "predicted" if plan.goal.judged_by == "value" else "the interval's high end"
        lines.append(
            f"The least near memory for a slowdown of {plan.goal.most_slowdown:.2f} ({judged})"
            if plan.goal.reached
            else f"No placement has a slowdown of at most {plan.goal.most_slowdown:.2f} ({judged})"
        )
    if plan.profiles:
        over = "mean" if plan.over_profiles == "mean" else "worst"
        lines.append(f"For {len(plan.profiles)} profiles, with the least {over} of their slowdowns")
    return lines


def _bars(plan: Plan) -> Table:
    prices = plan.prices
    fars = [memory.price_per_byte for memory in plan.memories[1:]] or [prices.far_per_byte]
    rows = [
        [
            bar.name,
            format_bytes(bar.near_bytes),
            format_ns(bar.time_ns.value),
            f"{bar.slowdown.value:.2f} ({bar.slowdown.low:.2f}-{bar.slowdown.high:.2f})",
            f"{bar.cost_relative:.0%}",
        ]
        for bar in plan.alternatives
    ]
    return table(
        ["placement", "near memory", "time", "slowdown (90 %)", "cost"],
        rows,
        caption=f"cost: price of the memory relative to all near, at prices of "
        f"{prices.near_per_byte:g} near and {', '.join(f'{price:g}' for price in fars)} far "
        f"({prices.source})",
    )


def _memories(plan: Plan) -> Table:
    def cells(memory: PlanMemory) -> list[str]:
        capacity, ratio = memory.capacity_bytes, memory.write_over_read
        return [
            memory.name,
            f"{memory.device} {memory.spec}".strip(),
            format_bytes(memory.used_bytes),
            "no limit" if capacity is None else format_bytes(capacity),
            f"{memory.price_per_byte:g}",
            "" if ratio is None else f"{ratio:.1f}",
        ]

    columns = ["memory", "device", "used", "capacity", "price", "write/read"]
    return table(columns, [cells(memory) for memory in plan.memories])


def _objects(plan: Plan) -> Table:
    rows = []
    for memory in [memory.name for memory in plan.memories] or ["near", "far"]:
        placed = [row for row in plan.placements if row.memory == memory]
        placed.sort(key=lambda row: -row.added_ns_if_far.value)
        for row in placed[:MAX_OBJECTS]:
            sizes = (format_bytes(row.size_bytes), format_ns(row.added_ns_if_far.value))
            rows.append([_where(row), row.name, *sizes])
        if remainder := placed[MAX_OBJECTS:]:
            size = format_bytes(sum(row.size_bytes for row in remainder))
            added = format_ns(sum(row.added_ns_if_far.value for row in remainder))
            rows.append([memory, f"{len(remainder)} more", size, added])
    return table(["memory", "object", "size", "adds if far"], rows)


def _where(row: Placement) -> str:
    if row.interleave:
        return " : ".join(f"{weight} {name}" for name, weight in row.interleave.items())
    if any(part.end_bytes for part in row.parts):
        memories = sorted({part.memory for part in row.parts}, key=lambda name: name != NEAR)
        return "; ".join(_ranges(row, memory) for memory in memories)
    if row.parts:
        return " + ".join(f"{part.share:.0%} {part.memory}" for part in row.parts)
    return row.memory


def _ranges(row: Placement, memory: str) -> str:
    """Return the ranges of an object in near memory, ``0-12 and 80-96 MiB near``, else a share."""
    ranges = [part for part in row.parts if part.memory == memory]
    if memory != NEAR or len(ranges) > MAX_RANGES:
        count = f" in {len(ranges)} ranges" if memory == NEAR else ""
        return f"{sum(part.share for part in ranges):.0%} {memory}{count}"
    text = " and ".join(
        f"{part.begin_bytes / MIB:.4g}-{part.end_bytes / MIB:.4g}" for part in ranges
    )
    return f"{text} MiB {memory}"


def _moves(plan: Plan) -> Table:
    names = {row.object: row.name for row in plan.placements}
    rows = [
        [
            f"{phase.phase} ({phase.entries} times)",
            names[move.object],
            f"{move.source} -> {move.memory}",
            format_bytes(move.bytes),
            format_ns(move.cost_ns),
        ]
        for phase in plan.phases
        for move in sorted(phase.moves, key=lambda move: -move.cost_ns)[:MAX_OBJECTS]
    ]
    return table(["phase starts", "moves", "to", "bytes", "takes"], rows)


def _undecided(plan: Plan) -> list[str]:
    if not plan.undecided:
        return []
    rows = plan.undecided
    examples = "; ".join(
        f"{row.name} ({row.at_low} at the low end, {row.at_high} at the high)" for row in rows[:3]
    )
    more = f"; and {len(rows) - 3} more" if len(rows) > 3 else ""
    return [
        f"{len(rows)} of {len(plan.placements)} placements depend on the prediction's interval: "
        f"{examples}{more}"
    ]

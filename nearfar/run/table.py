"""A RunRecord as people read it: object, planned, landed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from nearfar.base.units import format_bytes, format_ns
from nearfar.documents.run_record import RunRecord

if TYPE_CHECKING:
    from rich.console import Console

MOST_ROWS = 20
LEAST_LETTERS, OTHER_COLUMNS = 12, 68
"""Of an object's name, since a stripped program's are long; and what is beside it."""


def print_record(record: RunRecord, console: Console) -> None:
    """Print what was planned and where it landed, then what to know."""
    from rich.table import Column, Table

    rows = sorted(record.objects, key=lambda one: -max(one.recognised_bytes, one.planned_bytes))
    if rows:
        columns = ("object", "planned", "needs", "recognised", "landed", "on plan")
        table = Table(*(Column(name, no_wrap=True) for name in columns))
        letters = max(LEAST_LETTERS, console.width - OTHER_COLUMNS)
        for one in rows[:MOST_ROWS]:
            landed = ", ".join(
                f"{name} {format_bytes(size)}" for name, size in one.bytes_by_memory.items()
            )
            table.add_row(
                _cut(one.name, letters),
                _shares(one.planned),
                format_bytes(one.planned_bytes),
                format_bytes(one.recognised_bytes) if one.recognised_bytes else "not seen",
                landed or "-",
                "" if one.on_plan is None else f"{one.on_plan:.1%}",
            )
        console.print(table)
        if len(rows) > MOST_ROWS:
            console.print(f"and {len(rows) - MOST_ROWS} smaller objects", style="dim")
    lines = [
        f"{record.exit_status} after {format_ns(record.wall_time_ns)}, "
        f"{format_ns(record.cpu_time_ns)} of CPU"
    ]
    if record.pages_by_memory:
        pages = ", ".join(f"{n} {format_bytes(s)}" for n, s in record.pages_by_memory.items())
        lines.append(f"pages at the fullest moment: {pages}")
    if record.recognised_share_of_profile is not None:
        lines.append(f"recognised: {record.recognised_share_of_profile:.1%} of the plan's bytes")
    if record.recognised_share_of_heap is not None:
        lines[-1] += f", {record.recognised_share_of_heap:.1%} of this run's"
    if record.fallback_bytes:
        fallback = format_bytes(record.fallback_bytes)
        lines.append(f"elsewhere than planned, since their memory was full: {fallback}")
    if record.out_of_sight_bytes:
        lines.append(f"out of sight: {format_bytes(record.out_of_sight_bytes)} of anonymous memory")
    if record.migrations:
        moved = sum(one.moved_bytes for one in record.migrations)
        cost = sum(one.cost_ns for one in record.migrations)
        lines.append(f"moved {format_bytes(moved)} in {format_ns(cost)} of calls")
    for line in lines:
        console.print(line, markup=False, highlight=False)
    for warning in record.warnings:
        console.print(f"note: {warning}", style="yellow", markup=False, highlight=False)


def _cut(name: str, letters: int) -> str:
    """Leave out the middle: the allocator's wrapper is first, what tells objects apart last."""
    if len(name) <= letters:
        return name
    last = letters // 2
    return f"{name[: letters - last - 1]}…{name[-last:]}"


def _shares(planned: Mapping[str, float]) -> str:
    if len(planned) == 1:
        return next(iter(planned))
    return ", ".join(f"{share:.0%} {name}" for name, share in planned.items())

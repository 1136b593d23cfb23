"""A RunRecord as a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console

from nearfar.base.tables import say, table
from nearfar.base.units import format_bytes, format_ns
from nearfar.documents.run_record import ObjectLanding, PagedAlone, PagedRun, RunRecord

WAYS = {
    "kernel": "without the plan, the kernel alone",
    "memory.high": "without the plan, memory.high alone",
    "damon_reclaim": "without the plan, DAMON's reclaim beside the limit",
}
"""Ways of running without the plan, as they are shown."""
PLACES = {"near": " (in main memory)", "far": " (in swap)"}
"""Where the pages of a paged run are, by memory."""
MAX_ROWS = 20
"""Objects shown; the document lists all."""
MIN_NAME_LETTERS, OTHER_COLUMNS = 12, 68
"""Width of an object's name at least, and of the columns next to it."""


def print_record(record: RunRecord, console: Console) -> None:
    """Print planned and actual location of objects, then notes."""
    objects = sorted(record.objects, key=lambda row: -max(row.recognised_bytes, row.planned_bytes))
    if objects:
        letters = max(MIN_NAME_LETTERS, console.width - OTHER_COLUMNS)
        columns = ["object", "planned", "needs", "recognised", "landed", "on plan"]
        rows = [_cells(row, letters) for row in objects[:MAX_ROWS]]
        console.print(table(columns, rows, wrap=False))
        if len(objects) > MAX_ROWS:
            say(console, f"and {len(objects) - MAX_ROWS} smaller objects", style="dim")
    lines = [
        f"{record.exit_status} after {format_ns(record.wall_time_ns)}, "
        f"{format_ns(record.cpu_time_ns)} of CPU"
    ]
    if record.verb_cpu_ns:
        lines.append(
            f"nearfar's own part: {format_ns(record.verb_cpu_ns)} of CPU, "
            f"{record.stacks_asked} new call stacks, {record.pictures} snapshots"
        )
    if record.paged is not None:
        lines += _paged_lines(record.paged, record)
    if record.pages_by_memory:
        where = PLACES if record.paged else {}
        pages = ", ".join(
            f"{name}{where.get(name, '')} {format_bytes(size)}"
            for name, size in record.pages_by_memory.items()
        )
        lines.append(f"pages at the fullest moment: {pages}")
    if record.recognised_share_of_profile is not None:
        lines.append(f"recognised: {record.recognised_share_of_profile:.1%} of the plan's bytes")
    if record.recognised_share_of_heap is not None:
        lines[-1] += f", {record.recognised_share_of_heap:.1%} of this run's"
    if record.fallback_bytes and not record.paged:
        fallback = format_bytes(record.fallback_bytes)
        lines.append(f"elsewhere than planned, because their memory was full: {fallback}")
    if record.out_of_sight_bytes:
        lines.append(f"out of sight: {format_bytes(record.out_of_sight_bytes)} of anonymous memory")
    if record.migrations:
        moved = sum(move.moved_bytes for move in record.migrations)
        cost = sum(move.cost_ns for move in record.migrations)
        done = "sent away" if record.paged else "moved"
        lines.append(f"{done} {format_bytes(moved)} in {format_ns(cost)} of calls")
    say(console, *lines)
    say(console, *(f"note: {warning}" for warning in record.warnings), style="yellow")


def _paged_lines(paged: PagedRun, record: RunRecord) -> list[str]:
    """Return the limit, the faults, and the comparison with the run without a limit."""
    lines = [
        f"memory limited to {format_bytes(paged.budget_bytes)}: {paged.major_faults:,} faults "
        f"waited for a page, {paged.swap_ins:,} pages came back from swap, {paged.swap_outs:,} "
        "went there (of all programs)"
    ]
    if paged.locked_bytes:
        lines.append(f"locked: {format_bytes(paged.locked_bytes)} at the most")
    lines += [
        f"phase {row.phase}: {row.major_faults:,} faults in {format_ns(row.wall_time_ns)}"
        for row in paged.phases
        if len(paged.phases) > 1
    ]
    for other in paged.alone:
        if other.why_not:
            lines.append(f"{WAYS[other.way]}: not run, {other.why_not}")
            continue
        lines.append(_comparison_line(other, record))
    if paged.full_bytes and paged.full_wall_time_ns:
        lines.append(
            f"without a limit: {format_bytes(paged.full_bytes)} at its peak, "
            f"{format_ns(paged.full_wall_time_ns)}; limited to "
            f"{paged.budget_bytes / paged.full_bytes:.0%} it took "
            f"{record.wall_time_ns / paged.full_wall_time_ns:.2f}x as long"
        )
    return lines


def _comparison_line(other: PagedAlone, record: RunRecord) -> str:
    """Return a run without the plan; a run that failed has no times to compare."""
    ratios = ""
    if other.exit_status.startswith("exited 0"):
        ratios = (
            f" ({other.wall_time_ns / record.wall_time_ns:.2f}x and "
            f"{other.cpu_time_ns / record.cpu_time_ns:.2f}x of that under the plan)"
        )
    killed = f"; the kernel ended {other.killed} of its processes" if other.killed else ""
    return (
        f"{WAYS[other.way]}: {other.exit_status} after {format_ns(other.wall_time_ns)}, "
        f"{format_ns(other.cpu_time_ns)} of CPU{ratios}; {other.swap_ins:,} pages came back{killed}"
    )


def _cells(row: ObjectLanding, letters: int) -> list[str]:
    landed = (f"{name} {format_bytes(size)}" for name, size in row.bytes_by_memory.items())
    return [
        _cut(row.name, letters),
        _planned_text(row.planned),
        format_bytes(row.planned_bytes),
        format_bytes(row.recognised_bytes) if row.recognised_bytes else "not seen",
        ", ".join(landed) or "-",
        "" if row.on_plan is None else f"{row.on_plan:.1%}",
    ]


def _cut(name: str, letters: int) -> str:
    """Return `name` without its middle if it is long: its end is the most specific part."""
    if len(name) <= letters:
        return name
    last = letters // 2
    return f"{name[: letters - last - 1]}…{name[-last:]}"


def _planned_text(planned: Mapping[str, float]) -> str:
    """Return where an object is planned: a memory, or its share in each."""
    if len(planned) == 1:
        return next(iter(planned))
    return ", ".join(f"{share:.0%} {name}" for name, share in planned.items())

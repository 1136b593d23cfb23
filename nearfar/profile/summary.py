"""Profiles on the terminal: tables of phases, objects and laws of growth, and sentences."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console

from nearfar.base.estimate import Estimate
from nearfar.base.tables import say, table
from nearfar.base.units import format_bytes, format_count, format_ns
from nearfar.documents import WorkloadProfile
from nearfar.documents.profiled_run import Extrapolated
from nearfar.documents.workload import Phase, Traffic

TOP_OBJECTS = 10
"""Number of objects printed: as many as fit a terminal with the phases."""


def print_summary(profile: WorkloadProfile, console: Console) -> None:
    """Print phases, the objects with most misses, cost and error of tracing, warnings."""
    console.print(
        table(
            ["phase", "CPU time", "operations", "ns/op", "misses", "write-backs"],
            [_phase_cells(phase) for phase in profile.phases],
        )
    )
    totals = dict.fromkeys(range(len(profile.objects)), 0.0)
    for phase in profile.phases:
        for row in phase.objects:
            totals[row.object] += row.traffic.misses()
    ranking = sorted(totals, key=lambda number: -totals[number])[:TOP_OBJECTS]
    everything = sum(totals.values())
    objects = [(profile.objects[number], totals[number]) for number in ranking if totals[number]]
    rows = [
        [
            memory.name,
            memory.kind,
            format_bytes(memory.size_bytes),
            f"{misses:,.0f}",
            f"{misses / everything:.1%}",
        ]
        for memory, misses in objects
    ]
    console.print(table(["object", "kind", "size", "misses", "share"], rows))
    _print_bursts(profile, console)
    cache = profile.cache
    console.print(
        f"Misses of a last-level cache of {format_bytes(cache.size_bytes)}, {cache.ways} ways "
        f"({cache.origin}), one line in {profile.sampling.rate} sampled: totals +- "
        f"{profile.sampling.relative_error:.1%}. Tracing took {profile.instrumented_slowdown:.2f} "
        f"times the plain CPU time. The program {profile.program.exit_status}."
    )
    say(console, *other_counts(profile))
    say(console, *(f"warning: {warning}" for warning in profile.warnings))


def _phase_cells(phase: Phase) -> list[str]:
    near_ns = phase.near_cpu_time_ns.value
    misses = sum(row.traffic.misses() for row in phase.objects)
    write_backs = sum(row.traffic.write_backs for row in phase.objects)
    operations = f"{phase.operations:,.0f}" if phase.operations else ""
    per_operation = f"{near_ns / phase.operations:,.1f}" if phase.operations else ""
    counts = (f"{misses:,.0f}", f"{write_backs:,.0f}")
    return [phase.name, format_ns(near_ns), operations, per_operation, *counts]


def _print_bursts(profile: WorkloadProfile, console: Console) -> None:
    if profile.bursts is None:
        return
    rows = [
        [
            phase.phase,
            profile.objects[row.object].name if row.object >= 0 else "unknown",
            f"{row.misses:,.0f}",
            # Stores depend on nothing: 0 % would be read as independent loads.
            "no load seen" if row.read_misses == 0.0 else f"{row.dependent_share:.0%}",
            "-" if row.read_misses == 0.0 else f"{row.chain_depth:.1f}",
            f"{row.instructions_between:.1f}",
        ]
        for phase in profile.bursts.phases
        for row in phase.objects[:TOP_OBJECTS]
    ]
    columns = ["bursts of", "object", "misses", "dependent", "chain", "instructions between"]
    console.print(table(columns, rows))


MAX_NAMED = 3
"""Objects named in a sentence, those with the highest count first."""

MIN_NAMED_SHARE = 0.05
"""Share of a count from which an object is named in its sentence."""

COUNTS = (
    "flushes",
    "fences",
    "nt_store_bytes",
    "log_bytes",
    "syncs",
    "sync_bytes",
    "tlb_misses_4k",
    "tlb_misses_2m",
    "private_misses",
    "transfers",
)


def other_counts(profile: WorkloadProfile) -> list[str]:
    """Return one sentence each on persistence, page walks, private caches and transfers."""
    total = dict.fromkeys(COUNTS, 0.0)
    for phase in profile.phases:
        for row in phase.objects:
            for name in COUNTS:
                total[name] += getattr(row.traffic, name)
    return [
        *_persistence(profile, total),
        *_page_walks(profile, total),
        *_private(profile, total),
        *_transfers(profile, total),
    ]


def _persistence(profile: WorkloadProfile, total: dict[str, float]) -> list[str]:
    sentences = []
    if total["flushes"] or total["nt_store_bytes"]:
        parts = [f"{total['flushes']:,.0f} lines flushed"] if total["flushes"] else []
        if total["nt_store_bytes"]:
            parts.append(f"{format_bytes(total['nt_store_bytes'])} stored non-temporally")
        if total["fences"]:
            parts.append(f"{total['fences']:,.0f} fences that waited for them")
        most = _most(profile, lambda row: row.flushes + row.nt_store_bytes / 64)
        sentences.append(f"Persistence: {', '.join(parts)}; most in {most}.")
    if total["log_bytes"]:
        sentences.append(f"Transactions log {format_bytes(total['log_bytes'])}.")
    if total["syncs"]:
        calls = format_count(round(total["syncs"]), "time")
        sentences.append(f"msync was called {calls}, for {format_bytes(total['sync_bytes'])}.")
    return sentences


def _page_walks(profile: WorkloadProfile, total: dict[str, float]) -> list[str]:
    if profile.core is None or not total["tlb_misses_4k"]:
        return []
    most = _most(profile, lambda row: row.tlb_misses_4k)
    return [
        f"Page walks beyond {profile.core.tlb_entries} translations "
        f"({profile.core.tlb_origin}): {total['tlb_misses_4k']:,.0f} with pages of 4 KiB, "
        f"{total['tlb_misses_2m']:,.0f} with 2 MiB; most in {most}."
    ]


def _private(profile: WorkloadProfile, total: dict[str, float]) -> list[str]:
    if profile.core is None or not total["private_misses"]:
        return []
    return [
        f"Private caches of {format_bytes(profile.core.private_bytes)} missed "
        f"{total['private_misses']:,.0f} accesses, which went to the shared cache."
    ]


def _transfers(profile: WorkloadProfile, total: dict[str, float]) -> list[str]:
    if not total["transfers"]:
        return []
    most = _most(profile, lambda row: row.transfers)
    return [
        f"{total['transfers']:,.0f} accesses were to lines that another thread wrote last; most in "
        f"{most}."
    ]


def _most(profile: WorkloadProfile, count: Callable[[Traffic], float]) -> str:
    by_object = dict.fromkeys(range(len(profile.objects)), 0.0)
    for phase in profile.phases:
        for row in phase.objects:
            by_object[row.object] += count(row.traffic)
    counted = sum(by_object.values())
    order = sorted(by_object, key=lambda number: -by_object[number])[:MAX_NAMED]
    return ", ".join(
        f"{profile.objects[number].name} ({by_object[number] / counted:.0%})"
        for number in order
        if by_object[number] >= MIN_NAMED_SHARE * counted
    )


MIN_LINE_SHARE = 0.02
"""Share of a phase's misses, or of all bytes, from which an object has a line."""


def print_extrapolated(profile: WorkloadProfile, console: Console) -> None:
    """Print the main numbers of each phase: value, interval, law, held-out error; and warnings."""
    about = profile.extrapolation
    if about is None:
        return
    rows = [_extrapolated_cells(profile, row) for row in about.quantities if _matters(profile, row)]
    columns = ["phase", "what", "value", "95 %", "grows as", "held-out error"]
    console.print(table(columns, rows))
    say(console, *(f"warning: {warning}" for warning in profile.warnings))


def _extrapolated_cells(profile: WorkloadProfile, row: Extrapolated) -> list[str]:
    name = "" if row.object is None else f" of {profile.objects[row.object].name}"
    return [
        row.phase,
        row.quantity + name,
        _text(row, row.estimate.value),
        _interval(row, row.estimate),
        row.law,
        f"{row.held_out_error:.1%}" if row.held_out_error < 1 else "over 100 %",
    ]


def _matters(profile: WorkloadProfile, row: Extrapolated) -> bool:
    if row.object is None:
        return True
    if row.quantity == "size":
        total = sum(memory.size_bytes for memory in profile.objects)
        return row.estimate.value > MIN_LINE_SHARE * total
    if row.quantity != "misses":
        return False
    phase = next(phase for phase in profile.phases if phase.name == row.phase)
    return row.estimate.value > MIN_LINE_SHARE * sum(of.traffic.misses() for of in phase.objects)


def _text(row: Extrapolated, value: float) -> str:
    if row.quantity == "near time":
        return format_ns(value)
    return format_bytes(value) if row.quantity == "size" else f"{value:,.0f}"


def _interval(row: Extrapolated, estimate: Estimate) -> str:
    return f"{_text(row, estimate.low)} to {_text(row, estimate.high)}"

"""Profiles on the terminal: tables of phases, objects and laws of growth, and sentences."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nearfar.base.estimate import Estimate
from nearfar.base.units import format_bytes, format_ns
from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import Extrapolated, Traffic

TOP_OBJECTS = 10
"""Number of objects printed: as many as fit a terminal with the phases."""


def print_summary(profile: WorkloadProfile, console: Console) -> None:
    """Print phases, the objects with most misses, cost and error of tracing, and warnings."""
    cache = profile.cache
    phases = Table("phase", "CPU time", "operations", "ns/op", "misses", "write-backs")
    for phase in profile.phases:
        near = phase.near_cpu_time_ns.value
        misses = sum(row.traffic.misses() for row in phase.objects)
        phases.add_row(
            escape(phase.name),
            format_ns(near),
            f"{phase.operations:,.0f}" if phase.operations else "",
            f"{near / phase.operations:,.1f}" if phase.operations else "",
            f"{misses:,.0f}",
            f"{sum(row.traffic.write_backs for row in phase.objects):,.0f}",
        )
    console.print(phases)
    totals = dict.fromkeys(range(len(profile.objects)), 0.0)
    for phase in profile.phases:
        for row in phase.objects:
            totals[row.object] += row.traffic.misses()
    everything = sum(totals.values())
    objects = Table("object", "kind", "size", "misses", "share")
    for number in sorted(totals, key=lambda number: -totals[number])[:TOP_OBJECTS]:
        if not totals[number]:
            break
        memory = profile.objects[number]
        objects.add_row(
            escape(memory.name),
            memory.kind,
            format_bytes(memory.size_bytes),
            f"{totals[number]:,.0f}",
            f"{totals[number] / everything:.1%}",
        )
    console.print(objects)
    _print_bursts(profile, console)
    console.print(
        f"Misses of a last-level cache of {format_bytes(cache.size_bytes)}, {cache.ways} ways "
        f"({cache.origin}), one line in {profile.sampling.rate} sampled: totals +- "
        f"{profile.sampling.relative_error:.1%}. Tracing took {profile.instrumented_slowdown:.2f} "
        f"times the plain CPU time. The program {profile.program.exit_status}."
    )
    for sentence in other_counts(profile):
        console.print(sentence, markup=False)
    for warning in profile.warnings:
        console.print(f"warning: {warning}", markup=False)


def _print_bursts(profile: WorkloadProfile, console: Console) -> None:
    if profile.bursts is None:
        return
    table = Table("bursts of", "object", "misses", "dependent", "chain", "instructions between")
    for phase in profile.bursts.phases:
        for row in phase.objects[:TOP_OBJECTS]:
            name = profile.objects[row.object].name if row.object >= 0 else "unknown"
            table.add_row(
                escape(phase.phase),
                escape(name),
                f"{row.misses:,.0f}",
                # Without loads there are no dependences: 0 % would mean independent loads.
                "no load seen" if row.read_misses == 0.0 else f"{row.dependent_share:.0%}",
                "-" if row.read_misses == 0.0 else f"{row.chain_depth:.1f}",
                f"{row.instructions_between:.1f}",
            )
    console.print(table)


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
            parts.append(f"{format_bytes(total['nt_store_bytes'])} stored past the caches")
        if total["fences"]:
            parts.append(f"{total['fences']:,.0f} fences that waited for them")
        most = _most(profile, lambda row: row.flushes + row.nt_store_bytes / 64)
        sentences.append(f"Persistence: {', '.join(parts)}; most in {most}.")
    if total["log_bytes"]:
        sentences.append(f"Transactions log {format_bytes(total['log_bytes'])}.")
    if total["syncs"]:
        calls = f"{total['syncs']:,.0f} time{'s' if total['syncs'] != 1 else ''}"
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
    table = Table("phase", "what", "value", "95 %", "grows as", "held-out error")
    for number in about.quantities:
        if _matters(profile, number):
            label: str = number.quantity
            if number.object is not None:
                label = f"{number.quantity} of {profile.objects[number.object].name}"
            table.add_row(
                escape(number.phase),
                escape(label),
                _text(number, number.estimate.value),
                _interval(number, number.estimate),
                escape(number.law),
                f"{number.held_out_error:.1%}" if number.held_out_error < 1 else "over 100 %",
            )
    console.print(table)
    for warning in profile.warnings:
        console.print(f"warning: {warning}", markup=False)


def _matters(profile: WorkloadProfile, number: Extrapolated) -> bool:
    if number.object is None:
        return True
    if number.quantity == "size":
        total = sum(memory.size_bytes for memory in profile.objects)
        return number.estimate.value > MIN_LINE_SHARE * total
    if number.quantity != "misses":
        return False
    phase = next(phase for phase in profile.phases if phase.name == number.phase)
    return number.estimate.value > MIN_LINE_SHARE * sum(
        row.traffic.misses() for row in phase.objects
    )


def _text(number: Extrapolated, value: float) -> str:
    if number.quantity == "near time":
        return format_ns(value)
    return format_bytes(value) if number.quantity == "size" else f"{value:,.0f}"


def _interval(number: Extrapolated, estimate: Estimate) -> str:
    return f"{_text(number, estimate.low)} to {_text(number, estimate.high)}"

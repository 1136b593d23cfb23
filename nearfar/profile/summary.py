"""The profile in a few lines for the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nearfar.base.units import format_bytes, format_ns
from nearfar.documents import WorkloadProfile
from nearfar.profile.said import beside_misses

TOP_OBJECTS = 10
"""As many as fit a terminal beside the phases."""


def print_summary(profile: WorkloadProfile, console: Console) -> None:
    """Print phases, the objects with most misses, cost and error of tracing, warnings."""
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
        thing = profile.objects[number]
        objects.add_row(
            escape(thing.name),
            thing.kind,
            format_bytes(thing.size_bytes),
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
    for sentence in beside_misses(profile):
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
                # Of stores alone nothing depends: 0 % would be taken for independent loads.
                "no load seen" if row.read_misses == 0.0 else f"{row.dependent_share:.0%}",
                "-" if row.read_misses == 0.0 else f"{row.chain_depth:.1f}",
                f"{row.instructions_between:.1f}",
            )
    console.print(table)

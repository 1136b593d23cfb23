"""An extrapolated profile on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nearfar.base.statistics import Estimate
from nearfar.base.units import format_bytes, format_ns
from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import Extrapolated

LEAST_SHARE = 0.02
"""Of a phase's misses, or of all bytes, from which an object has a line."""


def print_extrapolated(profile: WorkloadProfile, console: Console) -> None:
    """Print what matters of each phase: value, interval, law, error held out; and warnings."""
    about = profile.extrapolation
    if about is None:
        return
    table = Table("phase", "what", "value", "95 %", "grows as", "held-out error")
    for one in about.quantities:
        if _matters(profile, one):
            what: str = one.quantity
            if one.object is not None:
                what = f"{one.quantity} of {profile.objects[one.object].name}"
            table.add_row(
                escape(one.phase),
                escape(what),
                _text(one, one.estimate.value),
                _interval(one, one.estimate),
                escape(one.law),
                f"{one.held_out_error:.1%}" if one.held_out_error < 1 else "over 100 %",
            )
    console.print(table)
    for warning in profile.warnings:
        console.print(f"warning: {warning}", markup=False)


def _matters(profile: WorkloadProfile, one: Extrapolated) -> bool:
    if one.object is None:
        return True
    if one.quantity == "size":
        total = sum(thing.size_bytes for thing in profile.objects)
        return one.estimate.value > LEAST_SHARE * total
    if one.quantity != "misses":
        return False
    phase = next(phase for phase in profile.phases if phase.name == one.phase)
    return one.estimate.value > LEAST_SHARE * sum(row.traffic.misses() for row in phase.objects)


def _text(one: Extrapolated, value: float) -> str:
    if one.quantity == "near time":
        return format_ns(value)
    return format_bytes(value) if one.quantity == "size" else f"{value:,.0f}"


def _interval(one: Extrapolated, estimate: Estimate) -> str:
    return f"{_text(one, estimate.low)} to {_text(one, estimate.high)}"

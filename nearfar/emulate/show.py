"""Print an emulation as tables."""

from __future__ import annotations

from rich.console import Console

from nearfar.base.tables import say, table
from nearfar.base.units import format_ns
from nearfar.documents import Emulation
from nearfar.documents.emulation import Probe
from nearfar.emulate.probes import worst


def show(emulation: Emulation, console: Console) -> None:
    """Print the phases, then the probes and their verdict."""
    title = f"{emulation.command[0]}: {emulation.far} emulated by {emulation.way}"
    rows = [
        [row.name, format_ns(row.near_ns), format_ns(row.emulated_ns), f"{row.slowdown:.2f}"]
        for row in [*emulation.phases, emulation.total]
    ]
    columns = ["phase", "near", "emulated", "slowdown"]
    console.print(table(columns, rows, title=title, right=slice(1, None)))
    columns = ["probe", "near", "target", "emulated", "error", "of its runs"]
    rows = [_probe_cells(probe) for probe in emulation.probes]
    title = "probes, ns per line of 64 B"
    console.print(table(columns, rows, title=title, right=slice(1, None)))
    error = worst(emulation.probes)
    if emulation.faithful:
        console.print(f"faithful to {emulation.far}: the largest error of a probe is {error:.1%}")
    else:
        console.print(
            f"NOT faithful to {emulation.far}: a probe is off by {error:.0%}, more than the "
            f"{emulation.tolerance:.0%} allowed"
        )
    say(console, *(f"- {caveat}" for caveat in emulation.caveats))


def _probe_cells(probe: Probe) -> list[str]:
    low, high = probe.error_range or (probe.error, probe.error)
    times = [f"{ns:.1f}" for ns in (probe.near_ns, probe.target_ns, probe.emulated_ns)]
    return [probe.name, *times, f"{probe.error:+.1%}", f"{low:+.1%} to {high:+.1%}"]

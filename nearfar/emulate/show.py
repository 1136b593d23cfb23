"""Print an emulation as tables."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from nearfar.base.units import format_ns
from nearfar.documents import Emulation
from nearfar.emulate.probes import worst


def show(emulation: Emulation, console: Console) -> None:
    """Print the phases, then the probes and their verdict."""
    title = f"{emulation.command[0]}: {emulation.far} emulated by {emulation.way}"
    table = Table(title=title, title_justify="left")
    for column in ("phase", "near", "emulated", "slowdown"):
        table.add_column(column, justify="left" if column == "phase" else "right")
    for phase in [*emulation.phases, emulation.total]:
        times = (format_ns(phase.near_ns), format_ns(phase.emulated_ns))
        table.add_row(phase.name, *times, f"{phase.slowdown:.2f}")
    console.print(table)
    probes = Table(title="probes, ns per line of 64 B", title_justify="left")
    for column in ("probe", "near", "target", "emulated", "error", "of its runs"):
        probes.add_column(column, justify="left" if column == "probe" else "right")
    for probe in emulation.probes:
        numbers = (f"{ns:.1f}" for ns in (probe.near_ns, probe.target_ns, probe.emulated_ns))
        low, high = probe.error_range or (probe.error, probe.error)
        probes.add_row(probe.name, *numbers, f"{probe.error:+.1%}", f"{low:+.1%} to {high:+.1%}")
    console.print(probes)
    error = worst(emulation.probes)
    if emulation.faithful:
        console.print(f"faithful to {emulation.far}: the largest error of a probe is {error:.1%}")
    else:
        console.print(
            f"NOT faithful to {emulation.far}: a probe is off by {error:.0%}, more than the "
            f"{emulation.tolerance:.0%} allowed"
        )
    for caveat in emulation.caveats:
        console.print(f"- {caveat}", markup=False, highlight=False)

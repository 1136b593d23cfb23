"""An emulation as tables in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from nearfar.base.units import format_ns
from nearfar.documents import Emulation
from nearfar.emulate.probes import worst


def show(made: Emulation, console: Console) -> None:
    """Print the phases, then how faithful they are."""
    table = Table(
        title=f"{made.command[0]}: {made.far} emulated by {made.way}", title_justify="left"
    )
    for column in ("phase", "near", "emulated", "slowdown"):
        table.add_column(column, justify="left" if column == "phase" else "right")
    for phase in [*made.phases, made.total]:
        times = (format_ns(phase.near_ns), format_ns(phase.emulated_ns))
        table.add_row(phase.name, *times, f"{phase.slowdown:.2f}")
    console.print(table)
    probes = Table(title="probes, ns per line of 64 B", title_justify="left")
    for column in ("probe", "near", "target", "emulated", "error", "of its runs"):
        probes.add_column(column, justify="left" if column == "probe" else "right")
    for one in made.probes:
        numbers = (f"{ns:.1f}" for ns in (one.near_ns, one.target_ns, one.emulated_ns))
        low, high = one.error_range or (one.error, one.error)
        probes.add_row(one.name, *numbers, f"{one.error:+.1%}", f"{low:+.1%} to {high:+.1%}")
    console.print(probes)
    off = worst(made.probes)
    if made.faithful:
        console.print(f"faithful to {made.far}: no probe is off by more than {off:.1%}")
    else:
        console.print(
            f"NOT faithful to {made.far}: a probe is off by {off:.0%}, and more than "
            f"{made.tolerance:.0%} is not called so"
        )
    for caveat in made.caveats:
        console.print(f"- {caveat}", markup=False, highlight=False)

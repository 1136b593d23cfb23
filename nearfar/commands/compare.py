"""The verb `compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from nearfar.commands._options import JsonOption, OutputOption, QuietOption

if TYPE_CHECKING:
    from rich.console import Console

    from nearfar.documents.comparison import Comparison

SHOWN = 20
"""Objects in the table; all are in the document."""


def compare(
    one: Path,
    other: Path,
    *,
    edited: Annotated[bool, Parameter(negative="")] = False,
    output: OutputOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare two profiles of a program: another input, another build, another source of accesses.

    Objects are recognised by their places in the source. A difference is marked where it is more
    than sampling lines (misses) or repeated runs (times) explain.

    Parameters
    ----------
    one
        What `nearfar profile` wrote.
    other
        The profile to compare it with.
    edited
        The source changed between the two: allocation sites whose lines moved are recognised by
        their functions, and each is named in a warning.
    """
    from nearfar.base.files import check_writable
    from nearfar.commands._deliver import deliver
    from nearfar.documents import WorkloadProfile, load
    from nearfar.profile.compare import compare as run

    if output is not None:
        check_writable(output)
    profiles = [load(path, WorkloadProfile) for path in (one, other)]
    found = run(profiles[0], profiles[1], (str(one), str(other)), edited=edited)
    deliver(found, output, json=json, quiet=quiet, show=lambda console: _show(found, console))


def _show(found: Comparison, console: Console) -> None:
    from rich.markup import escape
    from rich.table import Table

    from nearfar.base.units import format_bytes, format_ns

    phases = Table("phase", "CPU time", "", "ratio", "misses", "", "ratio")
    for phase in found.phases:
        times, misses = phase.near_cpu_time_ns, phase.misses
        phases.add_row(
            escape(phase.name),
            *(format_ns(time) for time in times),
            _ratio(times) + ("" if phase.time_differs else " ~"),
            *(f"{count:,.0f}" for count in misses),
            _ratio(misses),
        )
    objects = Table("object", "size", "", "misses", "", "ratio")
    for thing in found.objects[:SHOWN]:
        objects.add_row(
            escape(thing.name),
            *(format_bytes(size) for size in thing.size_bytes),
            *(f"{count:,.0f}" for count in thing.misses),
            _ratio(thing.misses) + ("" if thing.differs else " ~"),
        )
    console.print(phases)
    console.print(objects)
    console.print("~: no more than chance explains", markup=False)
    for warning in found.warnings:
        console.print(f"warning: {warning}", markup=False)


def _ratio(pair: tuple[float, float]) -> str:
    if not pair[0]:
        return "new" if pair[1] else ""
    return f"{pair[1] / pair[0]:.3g}"

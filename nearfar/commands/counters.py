"""The verb `counters`: counter files of other tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from nearfar.commands._options import JsonOption, QuietOption

app = App(name="counters", help="Read what other tools counted, for models of whole programs.")


@app.command(name="import")
def import_(
    file: Path,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("counters.json"),
    format_: Annotated[
        Literal["perf", "pcm", "likwid", "csv"] | None, Parameter(name="--format")
    ] = None,
    cumulative: Annotated[bool, Parameter(negative="")] = False,
    json_: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Read a counter file and write a CounterProfile: intervals of instructions, misses, bytes.

    Known are `perf stat -x, -I 1000`, `pcm -csv`, `pcm-memory -csv`, `likwid-perfctr -O`, and
    plain CSV with a column of times (s) and columns of counts. A counter that wrapped is refused;
    counters that took turns or were not on are named.

    Parameters
    ----------
    file
        What the tool wrote.
    output
        File to write the counter profile to.
    format_
        The tool; by default what the file looks like.
    cumulative
        The counts of a plain CSV are since the beginning, not since the line before.
    json_
        Print the counter profile as JSON.
    quiet
        Print nothing but errors.
    """
    from rich.console import Console

    from nearfar.base.files import check_writable
    from nearfar.counters.read import read_counters
    from nearfar.documents.header import save, to_json

    check_writable(output)
    found = read_counters(file, format_, cumulative)
    save(found, output)
    console = Console(stderr=True, quiet=quiet)
    last = found.intervals[-1]
    console.print(
        f"{found.format}: {len(found.intervals)} intervals, {last.end_s:g} s; "
        f"{', '.join(found.names)}; wrote {output}",
        markup=False,
        highlight=False,
    )
    for warning in found.warnings:
        console.print(f"warning: {warning}", markup=False, highlight=False)
    if json_:
        sys.stdout.write(to_json(found).decode())

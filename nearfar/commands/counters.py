"""Read what other tools counted, for models of whole programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from nearfar.commands._options import JsonOption, QuietOption

if TYPE_CHECKING:
    from nearfar.documents import CounterProfile

app = App(name="counters", help=__doc__)


@app.command(name="import")
def import_(
    file: Path,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("counters.json"),
    format_: Annotated[
        Literal["perf", "pcm", "likwid", "csv"] | None, Parameter(name="--format")
    ] = None,
    cumulative: Annotated[bool, Parameter(negative="")] = False,
    size: Annotated[list[str] | None, Parameter(negative="")] = None,
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
    size
        What the program was run at, such as n=1e5; repeat for several. `nearfar predict` fits
        counters of several sizes.
    json_
        Print the counter profile as JSON.
    quiet
        Print nothing but errors.
    """
    from nearfar.base.files import check_writable
    from nearfar.counters.read import read_counters
    from nearfar.predict.code_file import parse_sizes

    check_writable(output)
    sizes = parse_sizes(size or [])
    found = read_counters(file, format_, cumulative)
    found.size = sizes
    _deliver(found, output, json_, quiet)


@app.command
def record(
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("counters.json"),
    interval: int = 1000,
    size: Annotated[list[str] | None, Parameter(negative="")] = None,
    json_: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Count a whole program with `perf stat` and write a CounterProfile.

    Instructions, cycles, CPU time and last-level misses of loads and stores, user code only. Needs
    hardware counters, which many virtual machines lack. Exit code 4 if the program failed.

    Parameters
    ----------
    command
        The program and its arguments, after `--`.
    output
        File to write the counter profile to.
    interval
        Length of an interval in ms, 10 or more.
    size
        What the program is run at, such as n=1e5; repeat for several.
    json_
        Print the counter profile as JSON.
    quiet
        Print nothing but errors.
    """
    from nearfar.base.errors import CommandError, ExitCode
    from nearfar.base.files import check_writable
    from nearfar.counters.record import record as run_counted
    from nearfar.predict.code_file import parse_sizes
    from nearfar.program.executable import find_executable

    if not command:
        raise CommandError("name the program: nearfar counters record -- PROGRAM ARGS")
    check_writable(output)
    find_executable(command[0])
    sizes = parse_sizes(size or [])
    found, status = run_counted(command, interval, to_stderr=json_)
    found.size = sizes
    _deliver(found, output, json_, quiet)
    return int(ExitCode.PROGRAM_FAILED if status else ExitCode.DONE)


def _deliver(found: CounterProfile, output: Path, as_json: bool, quiet: bool) -> None:
    from rich.console import Console

    from nearfar.documents.header import save, to_json

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
    if as_json:
        sys.stdout.write(to_json(found).decode())

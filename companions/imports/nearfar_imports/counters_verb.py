"""Read what other tools counted, for models of whole programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cyclopts import App

from nearfar.base.errors import ExitCode
from nearfar.commands._verb import verb
from nearfar_imports.options import CounterFiles, ImportCountersOptions, RecordCountersOptions

if TYPE_CHECKING:
    from nearfar.documents import CounterProfile

app = App(name="counters", help=__doc__)


@app.command(name="import")
@verb(ImportCountersOptions, CounterFiles)
def import_(options: ImportCountersOptions, delivery: CounterFiles) -> None:
    """Read a counter file and write a CounterProfile: intervals of instructions, misses, bytes.

    Known are `perf stat -x, -I 1000`, `pcm -csv`, `pcm-memory -csv`, `likwid-perfctr -O`, and
    plain CSV with a column of times (s) and columns of counts. A counter that wrapped is refused;
    counters that took turns or were not on are named.
    """
    from nearfar.commands._deliver import check_output
    from nearfar_imports.counters.read import read_counters

    check_output(delivery.output)
    counters = read_counters(options.file, options.format_, options.cumulative)
    _deliver(counters, options.size, delivery)


@app.command
@verb(RecordCountersOptions, CounterFiles)
def record(options: RecordCountersOptions, delivery: CounterFiles) -> int:
    """Count a whole program with `perf stat` and write a CounterProfile.

    Instructions, cycles, CPU time and last-level misses of loads and stores, user code only. Needs
    hardware counters, which many virtual machines lack. Exit code 4 if the program failed.
    """
    from nearfar.commands._deliver import check_output
    from nearfar.predict.code_file import parse_sizes
    from nearfar.program.executable import find_executable
    from nearfar_imports.counters.record import record as run

    check_output(delivery.output)
    find_executable(options.command[0])
    parse_sizes(list(options.size))  # refuses before the program runs
    counters, status = run(tuple(options.command), options.interval, to_stderr=delivery.json)
    _deliver(counters, options.size, delivery)
    return int(ExitCode.PROGRAM_FAILED if status else ExitCode.DONE)


def _deliver(counters: CounterProfile, size: Sequence[str], delivery: CounterFiles) -> None:
    from rich.console import Console

    from nearfar.commands._deliver import print_json
    from nearfar.documents import save
    from nearfar.predict.code_file import parse_sizes

    counters.size = parse_sizes(list(size))
    save(counters, delivery.output)
    console = Console(stderr=True, quiet=delivery.quiet)
    last = counters.intervals[-1]
    console.print(
        f"{counters.format}: {len(counters.intervals)} intervals, {last.end_s:g} s; "
        f"{', '.join(counters.names)}; wrote {delivery.output}",
        markup=False,
        highlight=False,
    )
    for warning in counters.warnings:
        console.print(f"warning: {warning}", markup=False, highlight=False)
    if delivery.json:
        print_json(counters)
